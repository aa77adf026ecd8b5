// Whose prompt enters the models next: turns of a few tokens between API keys, of each key one
// prompt at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "submix/engine/engine_core.h"

namespace submix::engine {

// One thread at a time.
class PromptTurns {
 public:
  // Tokens of one turn: those of a page of keys and values.
  static constexpr int kTurn = 16;

  std::size_t size() const { return entering_.size(); }
  bool is_entering(const std::string& key) const {
    return std::ranges::find(entering_, key, &Entering::key) != entering_.end();
  }

  // Requires: no prompt of the key is entering; tokens >= 1.
  void Begin(std::string key, std::int64_t request_id, int tokens) {
    entering_.push_back({std::move(key), {request_id, tokens}});
  }

  // Ok if its prompt is in, or not known.
  void Drop(std::int64_t request_id) {
    std::erase_if(entering_,
                  [&](const Entering& prompt) { return prompt.left.request_id == request_id; });
  }

  // One turn, of at most `most` tokens, which is added to `shares`, of at most `places` prompts; a
  // prompt that has more comes last then. Returns how many: 0 if nothing enters, or if the next
  // prompt would be one too many. Requires: most >= 1.
  int Take(int most, int places, std::vector<StepShare>& shares) {
    if (entering_.empty()) return 0;
    const auto share =
        std::ranges::find(shares, entering_.front().left.request_id, &StepShare::request_id);
    if (share == shares.end() && std::cmp_equal(shares.size(), places)) return 0;
    Entering prompt = std::move(entering_.front());
    entering_.pop_front();
    const int tokens = std::min({kTurn, most, prompt.left.tokens});
    if (share == shares.end()) {
      shares.push_back({prompt.left.request_id, tokens});
    } else {
      share->tokens += tokens;
    }
    prompt.left.tokens -= tokens;
    if (prompt.left.tokens > 0) entering_.push_back(std::move(prompt));
    return tokens;
  }

 private:
  struct Entering {
    std::string key;
    StepShare left;
  };
  std::deque<Entering> entering_;  // in the order of their turns
};

}  // namespace submix::engine
