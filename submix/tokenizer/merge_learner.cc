#include "submix/tokenizer/merge_learner.h"

#include <utility>

#include "submix/tokenizer/byte_alphabet.h"

namespace submix::tokenizer {

using base::TokenId;

MergeLearner::MergeLearner() : heap_(IsWorse{this}) {
  for (const std::uint8_t byte : BytesInAlphabetOrder()) {
    token_of_byte_[byte] = FindOrAddToken(std::string(1, static_cast<char>(byte)));
  }
}

void MergeLearner::AddWord(std::string_view word, std::int64_t count) {
  const std::size_t begin = symbols_.size();
  words_.push_back(Word{begin, word.size(), count});
  for (const char byte : word) {
    symbols_.push_back(token_of_byte_[static_cast<unsigned char>(byte)]);
  }
  for (std::size_t i = begin + 1; i < symbols_.size(); ++i) {
    CountPair(symbols_[i - 1], symbols_[i], words_.size() - 1, 1);
  }
}

std::optional<MergeLearner::Merge> MergeLearner::MergeBest() {
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

std::size_t MergeLearner::FindOrAddPair(TokenId left, TokenId right) {
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

void MergeLearner::CountPair(TokenId left, TokenId right, std::size_t word_index, int sign) {
  const std::size_t index = FindOrAddPair(left, right);
  Pair& pair = pairs_[index];
  pair.count += sign * words_[word_index].count;
  if (sign < 0) return;
  if (pair.words.empty() || pair.words.back() != word_index) pair.words.push_back(word_index);
  if (!pair.has_grown) grown_pairs_.push_back(index);
  pair.has_grown = true;
}

void MergeLearner::PushGrownPairs() {
  for (const std::size_t index : grown_pairs_) {
    heap_.push(Candidate{pairs_[index].count, index});
    pairs_[index].has_grown = false;
  }
  grown_pairs_.clear();
}

std::optional<std::size_t> MergeLearner::PopBestPair() {
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

TokenId MergeLearner::FindOrAddToken(const std::string& bytes) {
  const auto [entry, is_new] =
      token_of_bytes_.try_emplace(bytes, static_cast<TokenId>(tokens_.size()));
  if (is_new) tokens_.push_back(bytes);
  return entry->second;
}

// Merges in place, from the left. Afterwards the merged pair's own count means nothing.
void MergeLearner::MergeInWord(const Merge& merge, std::size_t word_index) {
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

}  // namespace submix::tokenizer
