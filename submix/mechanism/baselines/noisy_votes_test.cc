#include "submix/mechanism/baselines/noisy_votes.h"

#include <cmath>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>

#include "submix/accounting/calculators/gnmax_rdp.h"
#include "submix/base/testing/seeded_random.h"
#include "submix/divergence/renyi_divergence.h"

namespace submix::mechanism {
namespace noisy_votes_test {

using divergence::RenyiOrder;

std::vector<double> Law(const std::vector<VoteLevel>& levels, double noise_scale) {
  std::vector<double> probabilities(levels.size());
  NoisyVotesLaw(levels, noise_scale, probabilities);
  return probabilities;
}

double Total(const std::vector<VoteLevel>& levels, const std::vector<double>& probabilities) {
  double total = 0;
  for (std::size_t l = 0; l < levels.size(); ++l) {
    total += static_cast<double>(levels[l].tokens) * probabilities[l];
  }
  return total;
}

// The pmf of counts of votes for every token.
std::vector<double> PmfOf(const std::vector<int>& counts, double noise_scale) {
  std::vector<VoteLevel> levels;
  for (const int votes : counts) levels.push_back({votes, 1});
  return Law(levels, noise_scale);
}

TEST(NoisyVotesTest, IsTheHighPrecisionLaw) {
  std::ifstream table(SUBMIX_TESTDATA_DIR "/mechanism/noisy_votes.txt");
  ASSERT_TRUE(table.is_open());
  double noise_scale = 0;
  std::size_t count = 0;
  int compared = 0;
  while (table >> noise_scale >> count) {
    std::vector<VoteLevel> levels(count);
    std::vector<double> expected(count);
    for (std::size_t l = 0; l < count; ++l) {
      table >> levels[l].votes >> levels[l].tokens >> expected[l];
    }
    const std::vector<double> actual = Law(levels, noise_scale);
    for (std::size_t l = 0; l < count; ++l) {
      EXPECT_NEAR(actual[l], expected[l], kNoisyVotesError * expected[l] + kNoisyVotesAbsoluteError)
          << noise_scale << " " << levels[l].votes;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 34);
}

TEST(NoisyVotesTest, TwoTokensAreANormalDifference) {
  for (const double noise_scale : {.01, .3, 1.0, 7.0, 1e4}) {
    for (const int lead : {0, 1, 5, 64}) {
      const auto law = Law({{lead, 1}, {0, 1}}, noise_scale);
      const double expected = std::erfc(lead / (2 * noise_scale)) / 2;
      EXPECT_NEAR(law[1], expected, kNoisyVotesError * expected + kNoisyVotesAbsoluteError);
      EXPECT_NEAR(law[0], 1 - expected, 1e-12);
    }
  }
}

TEST(NoisyVotesTest, WithoutVotesEveryTokenIsAsLikely) {
  for (const std::int64_t tokens : {1, 2, 1000, 1 << 20}) {
    const double expected = 1 / static_cast<double>(tokens);
    EXPECT_NEAR(Law({{0, tokens}}, 3)[0], expected, kNoisyVotesError * expected);
  }
}

TEST(NoisyVotesTest, SumsToOneAndStaysBelowThePapersBound) {
  const auto random = base::MakeSeededRandomSource(1);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<VoteLevel> levels;
    std::int64_t largest_tokens = 1;
    for (int votes = static_cast<int>(random->NextBelow(70)); votes > 0;
         votes -= 1 + static_cast<int>(random->NextBelow(20))) {
      levels.push_back({votes, static_cast<std::int64_t>(random->NextBelow(3))});
      largest_tokens = std::max<std::int64_t>(largest_tokens, levels.back().tokens);
    }
    levels.push_back({0, 1 + static_cast<std::int64_t>(random->NextBelow(60'000))});
    const double noise_scale =
        std::exp2(-2 + 8 * static_cast<double>(random->NextBelow(1000)) / 999);
    const std::vector<double> law = Law(levels, noise_scale);
    EXPECT_NEAR(Total(levels, law), 1, 1e-11);
  }
}

// Votes [60, 3, 1, 0 x 50], deviation 10, order 2. The worst case costs .0200,
// Theorem 6 .0009, and the law itself against that of any neighbour .0000733 at most.
TEST(NoisyVotesTest, TheLawCostsFarLessThanItsBounds) {
  std::vector<int> counts = {60, 3, 1};
  counts.resize(53, 0);
  const RenyiOrder order = RenyiOrder::Two();
  EXPECT_NEAR(accounting::GnmaxRdp(10, order), .02, 1e-15);
  const std::vector<double> as_double(counts.begin(), counts.end());
  const double theorem6 = accounting::GnmaxDataDependentRdp(as_double, 10, order);
  EXPECT_NEAR(theorem6, .0009, .00005);
  const std::vector<double> law = PmfOf(counts, 10);
  double largest = 0;
  for (std::size_t from = 0; from < 3; ++from) {
    for (std::size_t to = 0; to < 5; ++to) {
      std::vector<int> neighbour = counts;
      --neighbour[from];
      ++neighbour[to];
      largest =
          std::max(largest, divergence::SymmetricRenyiDivergence(law, PmfOf(neighbour, 10), order));
    }
  }
  EXPECT_NEAR(largest, .0000733, 5e-8);
}

TEST(NoisyVotesDeathTest, RefusesVotesForNothing) {
  std::vector<double> probability(1);
  const std::vector<VoteLevel> none = {{0, 0}};
  const std::vector<VoteLevel> one = {{0, 1}};
  EXPECT_DEATH(NoisyVotesLaw(none, 1, probability), "no token");
  EXPECT_DEATH(NoisyVotesLaw(one, 0, probability), "noise scale");
}

}  // namespace noisy_votes_test
}  // namespace submix::mechanism
