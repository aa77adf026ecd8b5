// A bounded queue that takes turns between keys: oldest first within a key.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <utility>

namespace submix::engine {

// One thread at a time.
template <typename T>
class FairQueue {
 public:
  // Holds at most `capacity` entries, of one key at most `capacity_per_key`.
  FairQueue(std::size_t capacity, std::size_t capacity_per_key)
      : capacity_(capacity), capacity_per_key_(capacity_per_key) {}

  std::size_t size() const { return size_; }
  std::size_t num_keys() const { return lanes_.size(); }  // that have an entry
  // Whether `count` entries more of the key fit.
  bool has_room_for(const std::string& key, std::size_t count) const {
    if (size_ + count > capacity_) return false;
    for (const Lane& lane : lanes_) {
      if (lane.key == key) return lane.entries.size() + count <= capacity_per_key_;
    }
    return count <= capacity_per_key_;
  }

  // Requires: has_room_for(key, 1).
  void Push(const std::string& key, T entry) {
    ++size_;
    for (Lane& lane : lanes_) {
      if (lane.key != key) continue;
      lane.entries.push_back(std::move(entry));
      return;
    }
    lanes_.push_back({key, {}});
    lanes_.back().entries.push_back(std::move(entry));
  }

  // The oldest entry of the key whose turn it is, of those that `may_come(key)` holds for; that key
  // then comes last.
  template <typename Predicate>
  std::optional<T> Pop(const Predicate& may_come) {
    const auto lane = std::ranges::find_if(lanes_, may_come, &Lane::key);
    if (lane == lanes_.end()) return std::nullopt;
    std::optional<T> entry(std::move(lane->entries.front()));
    lane->entries.pop_front();
    --size_;
    if (lane->entries.empty()) {
      lanes_.erase(lane);
    } else {
      lanes_.splice(lanes_.end(), lanes_, lane);
    }
    return entry;
  }

  // Takes out what `predicate(entry)` holds for; it may move from the entry then.
  template <typename Predicate>
  void EraseIf(const Predicate& predicate) {
    for (Lane& lane : lanes_) size_ -= std::erase_if(lane.entries, predicate);
    lanes_.remove_if([](const Lane& lane) { return lane.entries.empty(); });
  }

 private:
  struct Lane {
    std::string key;
    std::deque<T> entries;  // never empty
  };

  const std::size_t capacity_;
  const std::size_t capacity_per_key_;
  std::list<Lane> lanes_;  // in the order of their turns
  std::size_t size_ = 0;
};

}  // namespace submix::engine
