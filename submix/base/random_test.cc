#include "submix/base/random.h"

#include <array>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/repeatable_random.h"
#include "submix/base/testing/seeded_random.h"

namespace submix::base {
namespace random_test {

TEST(RandomTest, SeedDeterminesTheStream) {
  auto a = MakeSeededRandomSource(1);
  auto b = MakeSeededRandomSource(1);
  auto c = MakeSeededRandomSource(2);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(a->NextUint64(), b->NextUint64());
  EXPECT_NE(a->NextUint64(), c->NextUint64());
}

TEST(RandomTest, TheKeyDeterminesARepeatableStream) {
  auto a = MakeRepeatableRandomSource(Sha256("a"));
  auto again = MakeRepeatableRandomSource(Sha256("a"));
  auto b = MakeRepeatableRandomSource(Sha256("b"));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(a->NextUint64(), again->NextUint64());
  EXPECT_NE(a->NextUint64(), b->NextUint64());
}

TEST(RandomTest, PiecesOfAnySizeAreTheSameStream) {
  auto whole = MakeSeededRandomSource(3);
  auto pieces = MakeSeededRandomSource(3);
  std::array<std::byte, 3000> expected;
  whole->Fill(expected);
  std::vector<std::byte> actual(expected.size());
  for (std::size_t at = 0, size = 1; at < actual.size(); at += size, size = size % 97 + 1) {
    size = std::min(size, actual.size() - at);
    pieces->Fill(std::span(actual).subspan(at, size));
  }
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), actual.begin()));
}

TEST(RandomTest, BelowIsUniform) {
  auto source = MakeSeededRandomSource(4);
  std::array<int, 6> counts{};
  constexpr int kDraws = 60000;
  for (int i = 0; i < kDraws; ++i) ++counts[source->NextBelow(6)];
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - 10000.0) * (count - 10000.0) / 10000.0;
  // 5 degrees of freedom: P(chi^2 > 25.7) = 1e-4, and the seed is fixed.
  EXPECT_LT(chi_square, 25.7);
}

TEST(RandomTest, BelowWorksForTheLargestBounds) {
  auto source = MakeSeededRandomSource(5);
  EXPECT_EQ(source->NextBelow(1), 0u);
  constexpr std::uint64_t kBound = (std::uint64_t{1} << 63) + 1;  // about half are rejected
  for (int i = 0; i < 1000; ++i) ASSERT_LT(source->NextBelow(kBound), kBound);
}

TEST(RandomTest, BernoulliHasItsProbability) {
  auto source = MakeSeededRandomSource(6);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(source->NextBernoulli(0, 7));
    ASSERT_TRUE(source->NextBernoulli(7, 7));
  }
  int count = 0;
  for (int i = 0; i < 70000; ++i) count += source->NextBernoulli(3, 7) ? 1 : 0;
  // Standard deviation 131: five of them have probability 6e-7, and the seed is fixed.
  EXPECT_NEAR(count, 30000, 655);
}

TEST(RandomTest, SystemSourcesDiffer) {
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 20; ++i) seen.insert(MakeSystemRandomSource()->NextUint64());
  EXPECT_EQ(seen.size(), 20u);
}

}  // namespace random_test
}  // namespace submix::base
