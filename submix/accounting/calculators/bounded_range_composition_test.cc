#include "submix/accounting/calculators/bounded_range_composition.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "submix/accounting/calculators/rdp_accountant.h"
#include "submix/base/testing/status_matchers.h"

namespace submix::accounting {
namespace bounded_range_composition_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;

BoundedRangeComposition Compose(double range, std::int64_t count) {
  return BoundedRangeComposition::Create(range, count).value();
}

// docs/accounting.md: delta_1(e) = (1 - e^((e - range) / 2))^2 / (1 - e^-range).
double OneAnswer(double range, double epsilon) {
  if (epsilon >= range) return 0;
  if (epsilon <= -range) return -std::expm1(epsilon);
  return std::pow(std::expm1((epsilon - range) / 2), 2) / -std::expm1(-range);
}

TEST(BoundedRangeCompositionTest, BracketsTheClosedFormOfOneAnswer) {
  for (const double range : {1e-4, 0.0875, 0.5, 3.0, 12.0}) {
    const BoundedRangeComposition composition = Compose(range, 1);
    for (double share = 0; share < 1.2; share += 0.037) {
      const double truth = OneAnswer(range, share * range);
      const Bracket delta = composition.DeltaForEpsilon(share * range);
      EXPECT_LE(delta.lower, truth * (1 + 1e-9) + 1e-16);
      EXPECT_GE(delta.upper, truth * (1 - 1e-9));
      EXPECT_NEAR(delta.upper, truth, 4e-3 * OneAnswer(range, 0) + 1e-15 / range);
    }
  }
}

// Where differences of near numbers are divided by the range, rounding must not go below the truth.
TEST(BoundedRangeCompositionTest, TheUpperEndStaysAboveTheTruthForTinyRanges) {
  for (const double range : {1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2}) {
    const BoundedRangeComposition composition = Compose(range, 1);
    for (double share = 0; share < 1; share += 0.00137) {
      EXPECT_GE(composition.DeltaForEpsilon(share * range).upper, OneAnswer(range, share * range))
          << range << " " << share;
    }
  }
}

// Two answers: the first law's offset searched over a fine grid, the second's in closed form.
TEST(BoundedRangeCompositionTest, BracketsTwoAnswersSearchedByHand) {
  for (const double range : {0.1, 1.0, 4.0}) {
    const BoundedRangeComposition composition = Compose(range, 2);
    for (double share = 0; share < 2; share += 0.11) {
      const double epsilon = share * range;
      double best = 0;
      for (int i = 0; i <= 20000; ++i) {
        const double t = range * i / 20000;
        const double p = std::expm1(t - range) / std::expm1(-range);
        best = std::max(best, p * OneAnswer(range, epsilon - t) +
                                  (1 - p) * OneAnswer(range, epsilon - t + range));
      }
      const Bracket delta = composition.DeltaForEpsilon(epsilon);
      EXPECT_LE(delta.lower, best + 1e-9);
      EXPECT_GE(delta.upper, best - 1e-12);
      EXPECT_NEAR(delta.upper, best, 5e-3 * OneAnswer(range, 0));
    }
  }
}

// delta(epsilon) of two adaptive transcripts, walked over all their answers: each node draws a pair
// of laws on three tokens whose log ratio has the range.
class RandomAdversary {
 public:
  RandomAdversary(double range, unsigned seed) : range_(range), random_(seed) {}

  // sum over transcripts of (p P - q Q)_+ from a node reached with these weights.
  double Excess(double p, double q, int answers_left) {
    if (answers_left == 0) return std::max(p - q, 0.0);
    std::vector<double> log_ratio = {0, range_, range_ * Uniform()};
    double first[3], second[3], sum_first = 0, sum_second = 0;
    for (int x = 0; x < 3; ++x) {
      sum_second += second[x] = 0.02 + Uniform();
      sum_first += first[x] = second[x] * std::exp(log_ratio[x]);
    }
    double total = 0;
    for (int x = 0; x < 3; ++x) {
      total += Excess(p * first[x] / sum_first, q * second[x] / sum_second, answers_left - 1);
    }
    return total;
  }

 private:
  double Uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  double range_;
  std::mt19937_64 random_;
};

TEST(BoundedRangeCompositionTest, NoAdaptiveAdversaryDoesBetter) {
  constexpr int kAnswers = 5;
  for (const double range : {0.2, 1.5}) {
    const BoundedRangeComposition composition = Compose(range, kAnswers);
    double closest = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
      const double epsilon = range * (seed % 7) / 3.0;
      const double truth = RandomAdversary(range, seed).Excess(1, std::exp(epsilon), kAnswers);
      const double upper = composition.DeltaForEpsilon(epsilon).upper;
      EXPECT_LE(truth, upper);
      closest = std::max(closest, truth / upper);
    }
    EXPECT_GT(closest, 0.5);  // the adversaries are not hopeless
  }
}

// Theorem 6's example: 1,024 tokens, C / (k tau) = .04375: between the bounds, and below what
// Rényi divergence gives, but for what the lattice adds.
TEST(BoundedRangeCompositionTest, IsNoWorseThanTheConversionFromRenyiDivergence) {
  for (const std::int64_t count : {1, 10, 100, 1024}) {
    const PrivacyEvent event = {BoundedRangeRun{0.0875}, count};
    const auto bounds = CountRdp({&event, 1}, DefaultOrders());
    const BoundedRangeComposition composition = Compose(0.0875, count);
    for (const double epsilon : {0.0, 0.02, 0.5, 3.0, 6.987}) {
      double converted = 1;
      for (const RdpBound& bound : bounds) {
        if (bound.order.value() < kLeastImprovedOrder) continue;
        converted =
            std::min(converted, DeltaForEpsilon(bound, epsilon, ConversionKind::kImproved).value());
      }
      const Bracket delta = composition.DeltaForEpsilon(epsilon);
      EXPECT_LE(delta.lower, delta.upper);
      EXPECT_LE(delta.lower, converted);
      EXPECT_LE(delta.upper, converted * 1.01 + (count == 1 ? 1e-4 : 1e-12));
    }
  }
  EXPECT_LT(Compose(0.0875, 1024).DeltaForEpsilon(6.51).upper, 1e-5);
  EXPECT_GT(Compose(0.0875, 1024).DeltaForEpsilon(6.48).lower, 1e-5);
}

TEST(BoundedRangeCompositionTest, FallsWithEpsilonAndGrowsWithTheAnswers) {
  double last_at_1 = 0;
  for (const std::int64_t count : {1, 2, 30, 500}) {
    const BoundedRangeComposition composition = Compose(0.3, count);
    Bracket last = {1, 1};
    for (double epsilon = 0; epsilon < 30; epsilon += 0.0137) {
      const Bracket delta = composition.DeltaForEpsilon(epsilon);
      EXPECT_LE(delta.lower, delta.upper);
      EXPECT_LE(delta.upper, last.upper);
      EXPECT_LE(delta.lower, last.lower);
      last = delta;
    }
    EXPECT_GE(composition.DeltaForEpsilon(0.1).upper, last_at_1);
    last_at_1 = composition.DeltaForEpsilon(0.1).lower;
  }
}

TEST(BoundedRangeCompositionTest, RefusesWhatItCannotDo) {
  for (const double range : {0.0, -1.0, 101.0, std::nan("")}) {
    EXPECT_THAT(BoundedRangeComposition::Create(range, 1),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("range")));
  }
  EXPECT_THAT(BoundedRangeComposition::Create(1, 0),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("token")));
  EXPECT_THAT(BoundedRangeComposition::Create(1, 20001),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("20000")));
}

}  // namespace bounded_range_composition_test
}  // namespace submix::accounting
