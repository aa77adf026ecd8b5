// A prompt must not keep a server busy for longer than its length: one word of
// a megabyte is as much work a byte as one of a few kilobytes. Work is counted
// in calls, not timed.
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "submix/tokenizer/byte_pair_merges.h"
#include "tests/server/entered_functions.h"

namespace submix::tokenizer {
namespace {

constexpr int kLetters = 4;

// Merges of merges: the letters 0 .. 3 in pairs, then pairs of those, six
// levels up.
BytePairMerges DoublingMerges() {
  constexpr int kLevels = 6;
  BytePairMerges merges(kLetters * kLetters + kLevels);
  base::TokenId next = kLetters;
  std::int32_t rank = 0;
  for (base::TokenId left = 0; left < kLetters; ++left) {
    for (base::TokenId right = 0; right < kLetters; ++right) {
      merges.Add(left, right, {rank++, next++});
    }
  }
  base::TokenId doubled = kLetters;  // of "00"
  for (int level = 0; level < kLevels; ++level) {
    merges.Add(doubled, doubled, {rank++, next});
    doubled = next++;
  }
  return merges;
}

std::vector<base::TokenId> SameLetter(std::size_t size) {
  return std::vector<base::TokenId>(size, 0);
}
std::vector<base::TokenId> AllLetters(std::size_t size) {
  std::vector<base::TokenId> word(size);
  std::uint32_t state = 1;
  for (base::TokenId& letter : word) {
    state = state * 1664525 + 1013904223;
    letter = static_cast<base::TokenId>(state >> 30);
  }
  return word;
}

std::int64_t Calls(const BytePairMerges& merges, const std::vector<base::TokenId>& word) {
  std::vector<base::TokenId> tokens;
  BeginCountingFunctions();
  merges.Apply(word, tokens);
  const EnteredFunctions entered = EndCountingFunctions();
  EXPECT_LT(tokens.size(), word.size());
  return std::accumulate(entered.begin(), entered.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& each) { return sum + each.second; });
}

TEST(LinearWork, OfOneLongWord) {
  if (!CountsEnteredFunctions()) GTEST_SKIP() << "calls are counted in gcc's builds";
  const BytePairMerges merges = DoublingMerges();
  for (const auto& make : {SameLetter, AllLetters}) {
    const double of_short = static_cast<double>(Calls(merges, make(1 << 12))) / (1 << 12);
    const double of_long = static_cast<double>(Calls(merges, make(1 << 20))) / (1 << 20);
    EXPECT_GT(of_short, 1);
    EXPECT_LT(of_short, 60);
    EXPECT_LT(of_long, 1.1 * of_short);
  }
}

}  // namespace
}  // namespace submix::tokenizer
