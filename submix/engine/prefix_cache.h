// The beginnings of a key's prompts, such as a system prompt, as the predictor holds them: its
// later prompts begin with them for nothing. Never those of another key, whose prompts the time to
// a first token would tell of; and what one key sends makes no room for, or takes none from,
// another's.
#pragma once

#include <chrono>
#include <list>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "submix/base/ids.h"
#include "submix/ensemble/predictor.h"

namespace submix::engine {

// One thread at a time, the predictor's, which must outlive it.
class PrefixCache {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // What was not used for so long is dropped whenever anybody asks, so that keys that are gone take
  // no memory, and before what is kept is looked at, so that nobody sees whether others have asked.
  static constexpr std::chrono::minutes kLongestIdle{10};

  // At most so many tokens for each key: those not used for longest make room. 0, or a predictor
  // that shares nothing: keeps nothing.
  PrefixCache(ensemble::Predictor& predictor, int tokens_per_key)
      : predictor_(predictor), tokens_per_key_(tokens_per_key) {}
  ~PrefixCache();
  PrefixCache(const PrefixCache&) = delete;
  PrefixCache& operator=(const PrefixCache&) = delete;

  // A new sequence that holds the first `tokens` of the prompt, as many as are kept; never all.
  struct Opened {
    ensemble::SequenceId sequence = 0;
    int tokens = 0;
  };
  Opened Open(const std::string& key, std::span<const base::TokenId> prompt, Time now);
  // Keeps what fits of a prompt that `sequence` begins with. Without a key: nothing, since it could
  // be anybody's.
  void Keep(const std::string& key, std::span<const base::TokenId> prompt,
            ensemble::SequenceId sequence, Time now);

 private:
  struct Prefix {
    std::vector<base::TokenId> tokens;
    ensemble::SequenceId sequence = 0;
    Time used;
  };
  using Prefixes = std::list<Prefix>;  // newest use first

  bool keeps_nothing() const { return tokens_per_key_ == 0 || predictor_.prefix_granule() == 0; }
  // Rounded down to what can be shared.
  int Shareable(std::size_t tokens) const;
  static void Use(Prefixes& prefixes, Prefixes::iterator prefix, Time now);
  static int TokensOf(const Prefixes& prefixes);
  void Drop(Prefixes& prefixes, Prefixes::iterator prefix);
  void DropIdle(Time now);

  ensemble::Predictor& predictor_;
  const int tokens_per_key_;
  std::map<std::string, Prefixes> keys_;
};

}  // namespace submix::engine
