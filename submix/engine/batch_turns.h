// Whose answers are in a step, and who may begin one: turns between API keys. Where more answers
// have begun than a step holds, some pause in it, and keep their keys and values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "submix/engine/engine_core.h"
#include "submix/engine/fair_queue.h"

namespace submix::engine {

// One thread at a time.
class BatchTurns {
 public:
  // At most `max_live` >= 1 sequences are in a step, and `max_paused` >= 0 more have begun.
  BatchTurns(int max_live, int max_paused)
      : max_live_(max_live),
        max_paused_(max_paused),
        running_(static_cast<std::size_t>(max_live + max_paused),
                 static_cast<std::size_t>(max_live + max_paused)) {}

  // While all that have begun fit into a step, everybody may begin. Beyond that a key that has less
  // than its share of a step, and only where it has none once half of the places to pause in are
  // taken: however many the others have begun, a key without any finds a place.
  bool may_begin(const std::string& key) const {
    if (begun_ < max_live_) return true;
    const auto found = begun_of_.find(key);
    if (found == begun_of_.end()) return begun_ < max_live_ + max_paused_;
    return found->second < max_live_ / static_cast<int>(begun_of_.size()) &&
           begun_ < max_live_ + max_paused_ / 2;
  }

  void Begin(const std::string& key) {
    ++begun_;
    ++begun_of_[key];
  }
  // From when its prompt is in. Requires: a request of the key that has begun.
  void Run(const std::string& key, std::int64_t request_id) {
    running_.Push(key, {key, request_id});
  }
  // Whether or not it runs. Requires: it has begun.
  void End(const std::string& key, std::int64_t request_id) {
    --begun_;
    const auto found = begun_of_.find(key);
    if (--found->second == 0) begun_of_.erase(found);
    running_.EraseIf([&](const Running& running) { return running.request_id == request_id; });
  }

  // Those that run, as far as a step holds them.
  int running() const { return std::min(max_live_, static_cast<int>(running_.size())); }

  // How many prompts may take in tokens in the next step: each key that runs keeps a place in it.
  // Where there are more such keys than places, prompts have one in every other step.
  int TakePromptPlaces() {
    const int places = max_live_ - std::min(max_live_, static_cast<int>(running_.num_keys()));
    if (places > 0) return places;
    prompts_turn_ = !prompts_turn_;
    return prompts_turn_ ? 1 : 0;
  }

  // Adds to the shares of prompts those that run in this step: one of each key in turn, of a key
  // the one that has paused for longest, until the step is full. Requires: shares.size() <=
  // max_live.
  void Take(std::vector<StepShare>& shares) {
    std::vector<Running> taken;
    while (std::cmp_less(shares.size(), max_live_)) {
      auto next = running_.Pop([](const std::string&) { return true; });
      if (!next) break;
      shares.push_back({next->request_id, 1});
      taken.push_back(*std::move(next));
    }
    for (Running& running : taken) {
      const std::string key = running.key;
      running_.Push(key, std::move(running));
    }
  }

 private:
  struct Running {
    std::string key;
    std::int64_t request_id = 0;
  };

  const int max_live_;
  const int max_paused_;
  int begun_ = 0;
  std::unordered_map<std::string, int> begun_of_;  // a key, never 0
  FairQueue<Running> running_;
  bool prompts_turn_ = false;
};

}  // namespace submix::engine
