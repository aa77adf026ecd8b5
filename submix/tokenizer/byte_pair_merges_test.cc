#include "submix/tokenizer/byte_pair_merges.h"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"

namespace submix::tokenizer {
namespace byte_pair_merges_test {

using base::TokenId;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<TokenId> Merged(const BytePairMerges& merges, const std::vector<TokenId>& word) {
  std::vector<TokenId> tokens;
  merges.Apply(word, tokens);
  return tokens;
}

// The definition, word by word: find the lowest rank, merge its leftmost place, start again.
std::vector<TokenId> MergedByDefinition(const BytePairMerges& merges, std::vector<TokenId> word) {
  for (;;) {
    std::optional<std::size_t> best;
    BytePairMerge best_merge;
    for (std::size_t i = 0; i + 1 < word.size(); ++i) {
      const BytePairMerge* merge = merges.Find(word[i], word[i + 1]);
      if (merge == nullptr || (best && merge->rank >= best_merge.rank)) continue;
      best = i;
      best_merge = *merge;
    }
    if (!best) return word;
    word[*best] = best_merge.merged;
    word.erase(word.begin() + static_cast<std::ptrdiff_t>(*best) + 1);
  }
}

// Letters 0 .. 3 and merges of random pairs of what there is.
BytePairMerges RandomMerges(base::RandomSource& random, int num_merges) {
  BytePairMerges merges(static_cast<std::size_t>(num_merges));
  TokenId next = 4;
  for (std::int32_t rank = 0; rank < num_merges; ++rank) {
    const auto draw = [&] {
      return static_cast<TokenId>(random.NextBelow(static_cast<std::uint64_t>(next)));
    };
    if (merges.Add(draw(), draw(), BytePairMerge{rank, next})) ++next;
  }
  return merges;
}

TEST(BytePairMergesTest, MergesTheLowestRankFirst) {
  BytePairMerges merges(2);
  ASSERT_TRUE(merges.Add(1, 2, {0, 10}));
  ASSERT_TRUE(merges.Add(0, 1, {1, 11}));
  EXPECT_THAT(Merged(merges, {0, 1, 2}), ElementsAre(0, 10));
  EXPECT_THAT(Merged(merges, {0, 1, 1, 2}), ElementsAre(11, 10));
}

TEST(BytePairMergesTest, MergesEqualPairsFromTheLeft) {
  BytePairMerges merges(1);
  ASSERT_TRUE(merges.Add(0, 0, {0, 5}));
  EXPECT_THAT(Merged(merges, {0, 0, 0}), ElementsAre(5, 0));
}

TEST(BytePairMergesTest, LeavesWordsWithoutMergesAlone) {
  const BytePairMerges merges(0);
  EXPECT_THAT(Merged(merges, {}), IsEmpty());
  EXPECT_THAT(Merged(merges, {7}), ElementsAre(7));
  EXPECT_EQ(Merged(merges, std::vector<TokenId>(1000, 3)), std::vector<TokenId>(1000, 3));
}

TEST(BytePairMergesTest, RefusesASecondMergeOfAPair) {
  BytePairMerges merges(2);
  ASSERT_TRUE(merges.Add(0, 1, {0, 5}));
  EXPECT_FALSE(merges.Add(0, 1, {1, 6}));
  EXPECT_EQ(merges.Find(0, 1)->merged, 5);
  EXPECT_EQ(merges.Find(1, 0), nullptr);
}

TEST(BytePairMergesTest, AgreesWithTheDefinitionOnShortAndLongWords) {
  const auto random = base::MakeSeededRandomSource(2);
  for (int round = 0; round < 300; ++round) {
    const BytePairMerges merges = RandomMerges(*random, 40);
    std::vector<TokenId> word(random->NextBelow(150));
    for (TokenId& token : word) token = static_cast<TokenId>(random->NextBelow(4));
    ASSERT_EQ(Merged(merges, word), MergedByDefinition(merges, word)) << "round " << round;
  }
}

TEST(BytePairMergesTest, IsFastOnVeryLongWords) {
  BytePairMerges merges(20);
  for (TokenId token = 0; token < 20; ++token) {
    ASSERT_TRUE(merges.Add(token, token, {token, token + 1}));
  }
  EXPECT_THAT(Merged(merges, std::vector<TokenId>(1 << 20, 0)), ElementsAre(20));
}

}  // namespace byte_pair_merges_test
}  // namespace submix::tokenizer
