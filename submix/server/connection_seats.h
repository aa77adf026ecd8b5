// Which connections may stay when there are too many. Clients that have shown no key share a part
// of the seats; a newcomer takes the place of the one of them that has waited longest. Where nobody
// can make room the newcomer is a guest: it may send one header, by which it turns out to have a
// key, to be a probe, or to be told 503.
#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <utility>

namespace submix::server {

// Thread-safe.
class ConnectionSeats {
 public:
  // `kept_for_keys` of `connections`: for clients with keys alone.
  ConnectionSeats(int connections, int kept_for_keys)
      : most_(connections), most_unknown_(connections - kept_for_keys) {}

  // A connection's place. `make_room` may be called while the connection waits, by any thread that
  // holds the seats' lock: it must not block, nor call back.
  class Seat {
   public:
    explicit Seat(std::function<void()> make_room) : make_room_(std::move(make_room)) {}

   private:
    friend class ConnectionSeats;
    enum class Kind { kNone, kGuest, kUnknown, kKeyHolder };

    const std::function<void()> make_room_;
    Kind kind_ = Kind::kNone;
    bool waits_ = false;
    std::list<Seat*>::iterator place_;
  };

  // False: there is no place at all, not even a guest's. A seat that was entered must leave.
  bool Enter(Seat& seat);
  void Leave(Seat& seat);
  // Waits for the client, or for its header, from now on: may have to make room.
  void Wait(Seat& seat);
  // Works on a request.
  void Work(Seat& seat);
  // The client has shown a key: false if it is a guest and must remain one.
  bool ShowKey(Seat& seat);
  bool IsGuest(const Seat& seat) const;
  // Waits for the client to close: a guest from now on, so that its seat is another's.
  void TakeLeave(Seat& seat);
  // The one without a key that has waited longest, if any, makes room.
  void FreeOne();

 private:
  using Kind = Seat::Kind;

  // All require the lock.
  void StartWaiting(Seat& seat);
  std::list<Seat*>& WaitingLike(const Seat& seat) {
    return seat.kind_ == Kind::kGuest ? waiting_guests_ : waiting_unknown_;
  }
  int& CountOf(Kind kind);
  void Become(Seat& seat, Kind kind);
  void StopWaiting(Seat& seat);
  bool MakeRoom(std::list<Seat*>& waiting);

  const int most_;
  const int most_unknown_;
  mutable std::mutex mutex_;
  // Guarded by mutex_. Who waits, the longest first:
  std::list<Seat*> waiting_unknown_;
  std::list<Seat*> waiting_guests_;
  int guests_ = 0;
  int unknown_ = 0;
  int key_holders_ = 0;
};

}  // namespace submix::server
