// Learns byte-pair merges from counted words. The pairs' counts are kept up to date merge by merge,
// and a heap that is put right lazily finds the best (Sennrich et al. 2016, section 3.2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "submix/base/ids.h"

namespace submix::tokenizer {

// The tokens learnt so far and the words spelt in them. One thread at a time.
class MergeLearner {
 public:
  struct Merge {
    base::TokenId left = 0;
    base::TokenId right = 0;
    base::TokenId merged = 0;
  };

  // Starts with the 256 byte tokens, in the order of the byte alphabet.
  MergeLearner();
  MergeLearner(const MergeLearner&) = delete;
  MergeLearner& operator=(const MergeLearner&) = delete;

  // Adds a word that occurs `count` times. Requires: no merge was made yet.
  void AddWord(std::string_view word, std::int64_t count);
  // Merges the most frequent pair in all words; nothing if every word is one token. Ties: the
  // smaller merged bytes, then the shorter left part. Makes a new token unless the merged bytes are
  // a token already.
  std::optional<Merge> MergeBest();

  // The bytes of all tokens, index = id.
  const std::vector<std::string>& tokens() const { return tokens_; }

 private:
  struct Word {
    std::size_t begin = 0;  // in symbols_
    std::size_t size = 0;
    std::int64_t count = 0;
  };
  struct Pair {
    base::TokenId left = 0;
    base::TokenId right = 0;
    std::int64_t count = 0;  // occurrences in all words
    std::string merged_bytes;
    std::vector<std::size_t> words;  // where it stands or once stood; may repeat
    bool has_grown = false;          // listed in grown_pairs_
  };
  // A pair with the count it had when it was pushed. The heap holds, for every pair that occurs, at
  // least one candidate whose count is not below the pair's.
  struct Candidate {
    std::int64_t count = 0;
    std::size_t pair = 0;
  };
  struct IsWorse {
    const MergeLearner* learner;
    bool operator()(const Candidate& a, const Candidate& b) const;
  };

  std::size_t FindOrAddPair(base::TokenId left, base::TokenId right);
  // One word of `word_index` gained (sign 1) or lost (-1) the pair at one place.
  void CountPair(base::TokenId left, base::TokenId right, std::size_t word_index, int sign);
  void PushGrownPairs();
  std::optional<std::size_t> PopBestPair();
  base::TokenId FindOrAddToken(const std::string& bytes);
  void MergeInWord(const Merge& merge, std::size_t word_index);

  std::vector<std::string> tokens_;
  std::unordered_map<std::string, base::TokenId> token_of_bytes_;
  std::array<base::TokenId, 256> token_of_byte_{};
  std::vector<base::TokenId> symbols_;  // of all words, one after the other
  std::vector<Word> words_;
  std::vector<Pair> pairs_;
  std::unordered_map<std::uint64_t, std::size_t> index_of_pair_;
  std::vector<std::size_t> grown_pairs_;
  std::priority_queue<Candidate, std::vector<Candidate>, IsWorse> heap_;
};

}  // namespace submix::tokenizer
