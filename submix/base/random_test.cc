#include "submix/base/random.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "submix/base/repeatable_random.h"
#include "submix/base/testing/seeded_random.h"

namespace submix::base {
namespace random_test {

// Serves given words, each once, then words that no bound draws again.
class GivenWords final : public RandomSource {
 public:
  explicit GivenWords(std::vector<std::uint64_t> words) : words_(std::move(words)) {}
  void Fill(std::span<std::byte> bytes) override {
    ASSERT_EQ(bytes.size(), sizeof(std::uint64_t));
    const std::uint64_t word = next_ < words_.size() ? words_[next_] : ~std::uint64_t{0};
    std::memcpy(bytes.data(), &word, sizeof(std::uint64_t));
    ++next_;
  }
  bool is_used_up() const { return next_ == words_.size(); }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t next_ = 0;
};

TEST(RandomTest, SeedDeterminesTheStream) {
  auto a = MakeSeededRandomSource(1);
  auto b = MakeSeededRandomSource(1);
  auto c = MakeSeededRandomSource(2);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(a->NextUint64(), b->NextUint64());
  EXPECT_NE(a->NextUint64(), c->NextUint64());
}

TEST(RandomTest, AForkDrawsOtherNumbersOnceRekeyed) {
  const auto source = MakeSystemRandomSource();
  std::array<int, 2> ends;
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  source->Rekey();
  const std::uint64_t number = source->NextUint64();
  if (child == 0) _exit(write(ends[1], &number, sizeof number) == sizeof number ? 0 : 1);
  std::uint64_t of_child = 0;
  EXPECT_EQ(read(ends[0], &of_child, sizeof of_child), sizeof of_child);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_NE(number, of_child);
  for (const int end : ends) close(end);
}

TEST(RandomTest, ASeededStreamGoesOnWhenRekeyed) {
  auto rekeyed = MakeSeededRandomSource(1);
  auto other = MakeSeededRandomSource(1);
  for (int i = 0; i < 100; ++i) {
    rekeyed->Rekey();
    ASSERT_EQ(rekeyed->NextUint64(), other->NextUint64());
  }
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

// A modulo without rejection draws a cell of small bounds hardly more often than the others, but
// half of all draws from the first cell here: the values below 2^62 have two preimages.
TEST(RandomTest, BelowIsUniformWhereAModuloIsNot) {
  auto source = MakeSeededRandomSource(7);
  constexpr std::uint64_t kCell = std::uint64_t{1} << 62;
  std::array<int, 3> counts{};
  constexpr int kDraws = 3000;
  for (int i = 0; i < kDraws; ++i) ++counts[source->NextBelow(3 * kCell) / kCell];
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  // 2 degrees of freedom: P(chi^2 > 18.4) = 1e-4, and the seed is fixed. The modulo has about 375.
  EXPECT_LT(chi_square, 18.4);
}

// Exactly the words but the last 2^64 mod bound are taken: a whole multiple of the bound.
TEST(RandomTest, BelowDrawsAgainWhatWouldMakeSomeResultsLikelier) {
  struct Case {
    std::uint64_t bound;
    std::uint64_t excess;  // 2^64 mod bound
  };
  constexpr std::uint64_t kBit62 = std::uint64_t{1} << 62;
  for (const auto& [bound, excess] :
       {Case{3, 1}, Case{10, 6}, Case{3 * kBit62, kBit62}, Case{2 * kBit62 + 1, 2 * kBit62 - 1}}) {
    const std::uint64_t first_refused = 0 - excess;
    GivenWords words({first_refused, ~std::uint64_t{0}, first_refused - 1, 0});
    EXPECT_EQ(words.NextBelow(bound), bound - 1) << bound;
    EXPECT_EQ(words.NextBelow(bound), 0u) << bound;
    EXPECT_TRUE(words.is_used_up());
  }
  // A power of two divides 2^64: no word is drawn again.
  GivenWords words({0, 5});
  EXPECT_EQ(words.NextBelow(8), 0u);
  EXPECT_EQ(words.NextBelow(8), 5u);
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
