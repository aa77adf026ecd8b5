#include "submix/accounting/calculators/dp_fedavg.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "submix/base/testing/status_matchers.h"

namespace submix::accounting {
namespace dp_fedavg_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;

double Rounded(double value, int digits) {
  return std::round(value * std::pow(10, digits)) / std::pow(10, digits);
}

// The paper's Table 1, every printed digit.
TEST(DpFedavgTest, ReproducesTable1) {
  const auto rows = FedAvgTable1();
  ASSERT_EQ(rows.size(), 6u);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t column = 0; column < kTable1Rounds.size(); ++column) {
      FedAvgSettings settings = rows[row];
      settings.rounds = kTable1Rounds[column];
      SUBMIX_ASSERT_OK_AND_ASSIGN(const double epsilon, FedAvgEpsilon(settings));
      EXPECT_DOUBLE_EQ(Rounded(epsilon, 2), kTable1Printed[row][column]) << row << " " << column;
    }
  }
}

TEST(DpFedavgTest, ReproducesTable2) {
  const auto rows = FedAvgTable2();
  ASSERT_EQ(rows.size(), 7u);
  EXPECT_EQ(FedAvgEpsilon(rows[0].settings).value(), std::numeric_limits<double>::infinity());
  for (int row = 0; row < 6; ++row) {
    const FedAvgTable2Row& setting = rows[row + 1];
    EXPECT_DOUBLE_EQ(Rounded(FedAvgEpsilon(setting.settings).value(), 3), setting.printed_epsilon)
        << row;
    // sigma = z S / C~, as the table rounds it.
    EXPECT_EQ(Rounded(setting.clip_norm / setting.settings.users_per_round, 3),
              setting.noise_stddev);
  }
}

// Numbers of the paper's prose, and what the improved conversion gives.
TEST(DpFedavgTest, AgreesWithWorkedExamples) {
  const auto epsilon = [](double users_per_round, std::int64_t rounds) {
    return FedAvgEpsilon({763430, users_per_round, 1, rounds, 1e-9}).value();
  };
  EXPECT_NEAR(epsilon(1250, 3000), 1.976, 5e-4);
  EXPECT_NEAR(epsilon(5000, 3000), 3.816, 5e-4);
  EXPECT_NEAR(epsilon(5000, 20000), 8.921, 5e-4);
  EXPECT_NEAR(epsilon(5000, 4980), 4.626, 5e-4);
  constexpr double kImproved[6] = {4.211, 1.979, 1.725, 0.934, 0.797, 0.793};
  for (int row = 0; row < 6; ++row) {
    const double best = FedAvgBestEpsilon(FedAvgTable2()[row + 1].settings).value().epsilon;
    EXPECT_LE(best, kImproved[row] + 5e-4);  // integers to 65 there, more orders here
    EXPECT_GE(best, kImproved[row] * 0.97);
  }
}

// The plain average of all users whose |w D| is at most S, clipped as Lemma 1 says.
double ClippedAverage(double sum_of_weighted, double sum_of_weights, double least) {
  return sum_of_weighted / std::max(least, sum_of_weights);
}

TEST(DpFedavgTest, Lemma1HoldsForClippedUpdates) {
  const WeightedAverage average = {2, 0.1, 30};  // S = 2, q W_min = 3
  EXPECT_DOUBLE_EQ(FixedDivisorSensitivity(average), 2.0 / 3);
  EXPECT_DOUBLE_EQ(ClippedDivisorSensitivity(average), 4.0 / 3);
  for (double weights = 0; weights < 20; weights += 0.25) {   // of those already there
    for (double mean = -2; mean <= 2; mean += 0.5) {          // |mean| <= S
      for (double weight = 0; weight <= 1; weight += 0.25) {  // of the one who joins
        for (const double update : {-2.0, 2.0}) {
          const double before = ClippedAverage(mean * weights, weights, 3);
          const double after =
              ClippedAverage(mean * weights + weight * update, weights + weight, 3);
          EXPECT_LE(std::abs(after - before), ClippedDivisorSensitivity(average) + 1e-12);
        }
      }
    }
  }
}

// |w_k D_k| <= S alone is not enough for the clipped divisor: 1000 users of weight .003, each with
// |w D| = S, are joined by a user of weight 1 with update 0.
TEST(DpFedavgTest, Lemma1FailsIfOnlyTheWeightedUpdatesAreBounded) {
  const WeightedAverage average = {2, 0.1, 30};
  const double before = ClippedAverage(1000 * 2.0, 3, 3);
  const double after = ClippedAverage(1000 * 2.0, 4, 3);
  EXPECT_GT(before - after, 100 * ClippedDivisorSensitivity(average));
}

TEST(DpFedavgTest, RefusesSettingsOutOfRange) {
  for (const FedAvgSettings& settings :
       {FedAvgSettings{0, 1, 1, 1, 1e-5}, FedAvgSettings{10, 11, 1, 1, 1e-5},
        FedAvgSettings{10, std::nan(""), 1, 1, 1e-5}, FedAvgSettings{10, 1, 1, -1, 1e-5}}) {
    EXPECT_THAT(FedAvgEpsilon(settings),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("users")));
  }
  EXPECT_THAT(FedAvgEpsilon({10, 1, 1, 1, 0}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("delta")));
}

}  // namespace dp_fedavg_test
}  // namespace submix::accounting
