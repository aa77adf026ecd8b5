// Which connections may stay when there are too many. Clients that have shown no key share a part
// of the seats; a newcomer takes the place of the one of them that has waited longest for its
// client. Where nobody can make room the newcomer is a guest: it may send one header, by which it
// turns out to have a key, to be a probe, or to be told 503. A key finds its place among the keys:
// when all seats are taken, one of the key that holds most makes room.
#pragma once

#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace submix::server {

// Thread-safe.
class ConnectionSeats {
  struct Group;

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

    const std::function<void()> make_room_;
    Group* group_ = nullptr;  // null: has no place
    bool waits_ = false;
    std::list<Seat*>::iterator place_;
  };

  // How many clients that have shown no key find a place without taking another's.
  int room() const;
  // False: there is no place at all, not even a guest's. A seat that was entered must leave.
  bool Enter(Seat& seat);
  void Leave(Seat& seat);
  // Waits from now on for the client to send, or to take what is sent: may have to make room.
  void Wait(Seat& seat);
  // Works on a request.
  void Work(Seat& seat);
  // The client has shown a valid key of this name: false if it is a guest and must remain one.
  bool ShowKey(Seat& seat, const std::string& key);
  bool IsGuest(const Seat& seat) const;
  // Waits for the client to close: a guest from now on, so that its seat is another's.
  void TakeLeave(Seat& seat);
  // One that waits, if any, makes room, without a key if there is such a one.
  void FreeOne();

 private:
  struct Group {
    int seats = 0;
    std::list<Seat*> waiting;  // the longest first
  };

  // All require the lock.
  int Room() const { return std::min(most_unknown_ - unknown_.seats, most_ - taken_); }
  void StartWaiting(Seat& seat);
  void StopWaiting(Seat& seat);
  void Join(Seat& seat, Group* group);
  bool MakeRoom(Group& group);
  // The key that holds most seats of those that hold more than `key` and can make room, else `key`.
  Group& LargestBut(Group& key);

  const int most_;
  const int most_unknown_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  Group guests_;
  Group unknown_;
  std::map<std::string, Group> keys_;  // that were ever shown: at most all that were made
  int taken_ = 0;                      // seats of all but guests
};

}  // namespace submix::server
