#include "submix/server/connection_seats.h"

namespace submix::server {
namespace {

constexpr int kMostGuests = 64;

}  // namespace

void ConnectionSeats::Join(Seat& seat, Group* group) {
  StopWaiting(seat);
  for (const auto& [each, change] : {std::pair(seat.group_, -1), std::pair(group, 1)}) {
    if (each == nullptr) continue;
    each->seats += change;
    if (each != &guests_) taken_ += change;
  }
  seat.group_ = group;
}

void ConnectionSeats::StartWaiting(Seat& seat) {
  StopWaiting(seat);
  if (seat.group_ == nullptr) return;
  std::list<Seat*>& waiting = seat.group_->waiting;
  seat.place_ = waiting.insert(waiting.end(), &seat);
  seat.waits_ = true;
}

void ConnectionSeats::StopWaiting(Seat& seat) {
  if (!seat.waits_) return;
  seat.group_->waiting.erase(seat.place_);
  seat.waits_ = false;
}

bool ConnectionSeats::MakeRoom(Group& group) {
  if (group.waiting.empty()) return false;
  Seat& longest = *group.waiting.front();
  Join(longest, nullptr);
  longest.make_room_();
  return true;
}

ConnectionSeats::Group& ConnectionSeats::LargestBut(Group& key) {
  Group* largest = &key;
  for (auto& [name, each] : keys_) {
    if (!each.waiting.empty() && each.seats > largest->seats) largest = &each;
  }
  return *largest;
}

int ConnectionSeats::room() const {
  const std::lock_guard lock(mutex_);
  return Room();
}

bool ConnectionSeats::Enter(Seat& seat) {
  const std::lock_guard lock(mutex_);
  if (Room() > 0 || MakeRoom(unknown_)) {
    Join(seat, &unknown_);
    return true;
  }
  if (guests_.seats >= kMostGuests && !MakeRoom(guests_)) return false;
  Join(seat, &guests_);
  return true;
}

void ConnectionSeats::Leave(Seat& seat) {
  const std::lock_guard lock(mutex_);
  Join(seat, nullptr);
}

void ConnectionSeats::Wait(Seat& seat) {
  const std::lock_guard lock(mutex_);
  StartWaiting(seat);
}

void ConnectionSeats::TakeLeave(Seat& seat) {
  const std::lock_guard lock(mutex_);
  if (seat.group_ == nullptr) return;
  Join(seat, nullptr);
  if (guests_.seats >= kMostGuests) MakeRoom(guests_);
  Join(seat, &guests_);
  StartWaiting(seat);
}

void ConnectionSeats::Work(Seat& seat) {
  const std::lock_guard lock(mutex_);
  StopWaiting(seat);
}

bool ConnectionSeats::ShowKey(Seat& seat, const std::string& key) {
  const std::lock_guard lock(mutex_);
  Group& group = keys_[key];
  // A guest has no seat yet; who was just asked to make room, while its header came, has none left.
  const bool has_seat = seat.group_ != nullptr && seat.group_ != &guests_;
  const bool is_free = has_seat || taken_ < most_;
  if (!is_free && !MakeRoom(unknown_) && !MakeRoom(LargestBut(group))) return false;
  Join(seat, &group);
  return true;
}

bool ConnectionSeats::IsGuest(const Seat& seat) const {
  const std::lock_guard lock(mutex_);
  return seat.group_ == &guests_;
}

void ConnectionSeats::FreeOne() {
  const std::lock_guard lock(mutex_);
  Group none;
  if (!MakeRoom(guests_) && !MakeRoom(unknown_)) MakeRoom(LargestBut(none));
}

}  // namespace submix::server
