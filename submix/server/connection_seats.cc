#include "submix/server/connection_seats.h"

#include "submix/base/check.h"

namespace submix::server {
namespace {

constexpr int kMostGuests = 64;

}  // namespace

int& ConnectionSeats::CountOf(Kind kind) {
  SUBMIX_CHECK(kind != Kind::kNone, "nobody is counted before it has entered");
  if (kind == Kind::kGuest) return guests_;
  return kind == Kind::kUnknown ? unknown_ : key_holders_;
}

void ConnectionSeats::Become(Seat& seat, Kind kind) {
  StopWaiting(seat);
  if (seat.kind_ != Kind::kNone) --CountOf(seat.kind_);
  seat.kind_ = kind;
  if (seat.kind_ != Kind::kNone) ++CountOf(seat.kind_);
}

void ConnectionSeats::StopWaiting(Seat& seat) {
  if (!seat.waits_) return;
  WaitingLike(seat).erase(seat.place_);
  seat.waits_ = false;
}

bool ConnectionSeats::MakeRoom(std::list<Seat*>& waiting) {
  if (waiting.empty()) return false;
  Seat& longest = *waiting.front();
  Become(longest, Kind::kNone);
  longest.make_room_();
  return true;
}

bool ConnectionSeats::Enter(Seat& seat) {
  const std::lock_guard lock(mutex_);
  const bool is_free = unknown_ < most_unknown_ && unknown_ + key_holders_ < most_;
  if (is_free || MakeRoom(waiting_unknown_)) {
    Become(seat, Kind::kUnknown);
    return true;
  }
  if (guests_ >= kMostGuests && !MakeRoom(waiting_guests_)) return false;
  Become(seat, Kind::kGuest);
  return true;
}

void ConnectionSeats::Leave(Seat& seat) {
  const std::lock_guard lock(mutex_);
  Become(seat, Kind::kNone);
}

void ConnectionSeats::StartWaiting(Seat& seat) {
  if (seat.kind_ != Kind::kGuest && seat.kind_ != Kind::kUnknown) return;
  StopWaiting(seat);
  std::list<Seat*>& waiting = WaitingLike(seat);
  seat.place_ = waiting.insert(waiting.end(), &seat);
  seat.waits_ = true;
}

void ConnectionSeats::Wait(Seat& seat) {
  const std::lock_guard lock(mutex_);
  StartWaiting(seat);
}

void ConnectionSeats::TakeLeave(Seat& seat) {
  const std::lock_guard lock(mutex_);
  if (seat.kind_ == Kind::kNone) return;
  Become(seat, Kind::kNone);
  if (guests_ >= kMostGuests) MakeRoom(waiting_guests_);
  Become(seat, Kind::kGuest);
  StartWaiting(seat);
}

void ConnectionSeats::Work(Seat& seat) {
  const std::lock_guard lock(mutex_);
  StopWaiting(seat);
}

bool ConnectionSeats::ShowKey(Seat& seat) {
  const std::lock_guard lock(mutex_);
  // A guest has no seat yet; who was just asked to make room, while its header came, has none left.
  const bool has_seat = seat.kind_ == Kind::kUnknown || seat.kind_ == Kind::kKeyHolder;
  if (!has_seat && unknown_ + key_holders_ >= most_ && !MakeRoom(waiting_unknown_)) return false;
  Become(seat, Kind::kKeyHolder);
  return true;
}

bool ConnectionSeats::IsGuest(const Seat& seat) const {
  const std::lock_guard lock(mutex_);
  return seat.kind_ == Kind::kGuest;
}

void ConnectionSeats::FreeOne() {
  const std::lock_guard lock(mutex_);
  if (!MakeRoom(waiting_guests_)) MakeRoom(waiting_unknown_);
}

}  // namespace submix::server
