#include "submix/tokenizer/bpe_trainer.h"

#include <array>
#include <optional>
#include <queue>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/base/ids.h"
#include "submix/base/json_object.h"
#include "submix/tokenizer/byte_alphabet.h"
#include "submix/tokenizer/pre_tokenizer.h"

namespace submix::tokenizer {
namespace {

using base::TokenId;

constexpr int kNumBytes = 256;

// The tokens learnt so far and the words spelt in them. The pairs' counts are kept up to date merge
// by merge, and a heap that is put right lazily finds the best (Sennrich et al. 2016, section 3.2).
class MergeLearner {
 public:
  struct Merge {
    TokenId left = 0;
    TokenId right = 0;
    TokenId merged = 0;
  };

  // Starts with the 256 byte tokens, in the order of the byte alphabet.
  MergeLearner() : heap_(IsWorse{this}) {
    for (const std::uint8_t byte : BytesInAlphabetOrder()) {
      token_of_byte_[byte] = FindOrAddToken(std::string(1, static_cast<char>(byte)));
    }
  }

  MergeLearner(const MergeLearner&) = delete;
  MergeLearner& operator=(const MergeLearner&) = delete;

  // Adds a word that occurs `count` times. Requires: no merge was made yet.
  void AddWord(std::string_view word, std::int64_t count) {
    const std::size_t begin = symbols_.size();
    words_.push_back(Word{begin, word.size(), count});
    for (const char byte : word) {
      symbols_.push_back(token_of_byte_[static_cast<unsigned char>(byte)]);
    }
    for (std::size_t i = begin + 1; i < symbols_.size(); ++i) {
      CountPair(symbols_[i - 1], symbols_[i], words_.size() - 1, 1);
    }
  }

  // Merges the most frequent pair in all words; nothing if every word is one token. Ties: the
  // smaller merged bytes, then the shorter left part. Makes a new token unless the merged bytes are
  // a token already.
  std::optional<Merge> MergeBest() {
    PushGrownPairs();
    const std::optional<std::size_t> best = PopBestPair();
    if (!best) return std::nullopt;
    const Merge merge{pairs_[*best].left, pairs_[*best].right,
                      FindOrAddToken(pairs_[*best].merged_bytes)};
    const std::vector<std::size_t> word_indices = std::exchange(pairs_[*best].words, {});
    for (const std::size_t word_index : word_indices) MergeInWord(merge, word_index);
    pairs_[*best].count = 0;
    return merge;
  }

  // The bytes of all tokens, index = id.
  const std::vector<std::string>& tokens() const { return tokens_; }

 private:
  struct Word {
    std::size_t begin = 0;  // in symbols_
    std::size_t size = 0;
    std::int64_t count = 0;
  };
  struct Pair {
    TokenId left = 0;
    TokenId right = 0;
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

  std::size_t FindOrAddPair(TokenId left, TokenId right) {
    const std::uint64_t key =
        static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint64_t>(right);
    const auto [entry, is_new] = index_of_pair_.try_emplace(key, pairs_.size());
    if (is_new) {
      Pair pair;
      pair.left = left;
      pair.right = right;
      pair.merged_bytes =
          tokens_[static_cast<std::size_t>(left)] + tokens_[static_cast<std::size_t>(right)];
      pairs_.push_back(std::move(pair));
    }
    return entry->second;
  }

  // One word of `word_index` gained (sign 1) or lost (-1) the pair at one place.
  void CountPair(TokenId left, TokenId right, std::size_t word_index, int sign) {
    const std::size_t index = FindOrAddPair(left, right);
    Pair& pair = pairs_[index];
    pair.count += sign * words_[word_index].count;
    if (sign < 0) return;
    if (pair.words.empty() || pair.words.back() != word_index) pair.words.push_back(word_index);
    if (!pair.has_grown) grown_pairs_.push_back(index);
    pair.has_grown = true;
  }

  void PushGrownPairs() {
    for (const std::size_t index : grown_pairs_) {
      heap_.push(Candidate{pairs_[index].count, index});
      pairs_[index].has_grown = false;
    }
    grown_pairs_.clear();
  }

  std::optional<std::size_t> PopBestPair() {
    while (!heap_.empty()) {
      const Candidate candidate = heap_.top();
      heap_.pop();
      const std::int64_t count = pairs_[candidate.pair].count;
      if (count == candidate.count && count > 0) return candidate.pair;
      // The pair has become rarer since; if it has become more frequent, another candidate says so.
      if (count > 0 && count < candidate.count) heap_.push(Candidate{count, candidate.pair});
    }
    return std::nullopt;
  }

  TokenId FindOrAddToken(const std::string& bytes) {
    const auto [entry, is_new] =
        token_of_bytes_.try_emplace(bytes, static_cast<TokenId>(tokens_.size()));
    if (is_new) tokens_.push_back(bytes);
    return entry->second;
  }

  // Merges in place, from the left. Afterwards the merged pair's own count means nothing.
  void MergeInWord(const Merge& merge, std::size_t word_index) {
    Word& word = words_[word_index];
    TokenId* const symbol = symbols_.data() + word.begin;
    std::size_t size = 0;
    for (std::size_t i = 0; i < word.size; ++i) {
      const bool is_pair =
          i + 1 < word.size && symbol[i] == merge.left && symbol[i + 1] == merge.right;
      if (!is_pair) {
        symbol[size++] = symbol[i];
        continue;
      }
      if (size > 0) {
        CountPair(symbol[size - 1], merge.left, word_index, -1);
        CountPair(symbol[size - 1], merge.merged, word_index, 1);
      }
      if (i + 2 < word.size) {
        CountPair(merge.right, symbol[i + 2], word_index, -1);
        CountPair(merge.merged, symbol[i + 2], word_index, 1);
      }
      symbol[size++] = merge.merged;
      ++i;
    }
    word.size = size;
  }

  std::vector<std::string> tokens_;
  std::unordered_map<std::string, TokenId> token_of_bytes_;
  std::array<TokenId, 256> token_of_byte_{};
  std::vector<TokenId> symbols_;  // of all words, one after the other
  std::vector<Word> words_;
  std::vector<Pair> pairs_;
  std::unordered_map<std::uint64_t, std::size_t> index_of_pair_;
  std::vector<std::size_t> grown_pairs_;
  std::priority_queue<Candidate, std::vector<Candidate>, IsWorse> heap_;
};

bool MergeLearner::IsWorse::operator()(const Candidate& a, const Candidate& b) const {
  if (a.count != b.count) return a.count < b.count;
  const Pair& pair_a = learner->pairs_[a.pair];
  const Pair& pair_b = learner->pairs_[b.pair];
  const int order = pair_a.merged_bytes.compare(pair_b.merged_bytes);
  if (order != 0) return order > 0;
  const auto left_size = [this](const Pair& pair) {
    return learner->tokens_[static_cast<std::size_t>(pair.left)].size();
  };
  return left_size(pair_a) > left_size(pair_b);
}

// In the order of the ids, as GPT-2's own file is.
std::string VocabularyJson(const std::vector<std::string>& tokens) {
  std::string json = "{";
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    json += base::JsonText(SpellBytes(tokens[id])) + ": " + std::to_string(id) + ", ";
  }
  return json + "\"<|endoftext|>\": " + std::to_string(tokens.size()) + "}\n";
}

std::string MergeLine(const MergeLearner::Merge& merge, const std::vector<std::string>& tokens) {
  const auto spell = [&](TokenId id) { return SpellBytes(tokens[static_cast<std::size_t>(id)]); };
  return spell(merge.left) + " " + spell(merge.right) + "\n";
}

}  // namespace

base::Status BpeTrainer::AddText(std::string_view text) {
  SUBMIX_ASSIGN_OR_RETURN(const auto words, Gpt2PreTokenizer().Cut(text));
  for (const std::string_view word : words) {
    const auto entry = word_counts_.find(word);
    if (entry != word_counts_.end()) {
      ++entry->second;
    } else {
      word_counts_.emplace(word, 1);
    }
  }
  return base::OkStatus();
}

base::Status BpeTrainer::Train(int vocab_size, const std::string& directory) const {
  if (vocab_size < kNumBytes + 1) {
    return base::InvalidArgumentError(
        "a vocabulary of " + std::to_string(vocab_size) +
        " is too small: the 256 bytes and \"<|endoftext|>\" need 257");
  }
  MergeLearner learner;
  for (const auto& [word, count] : word_counts_) learner.AddWord(word, count);
  const auto num_tokens = static_cast<std::size_t>(vocab_size - 1);
  std::string merges_text = "#version: 0.2\n";
  while (learner.tokens().size() < num_tokens) {
    const std::optional<MergeLearner::Merge> merge = learner.MergeBest();
    if (!merge) {
      return base::InvalidArgumentError("the text has pairs for a vocabulary of only " +
                                        std::to_string(learner.tokens().size() + 1) + ", not of " +
                                        std::to_string(vocab_size) +
                                        ": use a smaller vocabulary or more text");
    }
    merges_text += MergeLine(*merge, learner.tokens());
  }
  SUBMIX_RETURN_IF_ERROR(
      base::WriteFile(base::JoinPath(directory, "vocab.json"), VocabularyJson(learner.tokens())));
  return base::WriteFile(base::JoinPath(directory, "merges.txt"), merges_text);
}

}  // namespace submix::tokenizer
