#include "submix/divergence/pmf.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/status_matchers.h"

namespace submix::divergence {
namespace pmf_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(CheckPmfTest, TakesProbabilitiesThatSumToOneWithinTheTolerance) {
  SUBMIX_EXPECT_OK(CheckPmf(std::vector<double>{1}));
  SUBMIX_EXPECT_OK(CheckPmf(std::vector<double>{0.25, 0, 0.75}));
  SUBMIX_EXPECT_OK(CheckPmf(std::vector<double>{0.5, 0.5 + 0.9 * kPmfSumTolerance}));
  SUBMIX_EXPECT_OK(CheckPmf(std::vector<double>(50257, 1.0 / 50257)));
}

TEST(CheckPmfTest, RefusesWrongSumsAndAnEmptyPmf) {
  for (const std::vector<double>& pmf :
       {std::vector<double>{}, {0.5, 0.4}, {0.5, 0.5 + 1.1 * kPmfSumTolerance}}) {
    EXPECT_THAT(CheckPmf(pmf), StatusIs(StatusCode::kInvalidArgument, HasSubstr("sum to 1")));
  }
}

TEST(CheckPmfTest, NamesTheIndexButNotTheValueOfABadProbability) {
  for (const double bad : {-0.125, std::nan(""), kInfinity, -kInfinity}) {
    EXPECT_THAT(CheckPmf(std::vector<double>{0.5, 0.5, bad}),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("index 2 of 3"), Not(HasSubstr("0.125")))));
  }
}

TEST(LogSumExpTest, NeitherOverflowsNorUnderflows) {
  EXPECT_DOUBLE_EQ(LogSumExp(std::vector<double>{1000, 1000}), 1000 + std::log(2));
  EXPECT_DOUBLE_EQ(LogSumExp(std::vector<double>{-1000, -1001}), -1000 + std::log1p(std::exp(-1)));
}

TEST(LogSumExpTest, KeepsInfinitiesAndNan) {
  EXPECT_EQ(LogSumExp({}), -kInfinity);
  EXPECT_EQ(LogSumExp(std::vector<double>{-kInfinity, -kInfinity}), -kInfinity);
  EXPECT_DOUBLE_EQ(LogSumExp(std::vector<double>{-kInfinity, 3}), 3);
  EXPECT_EQ(LogSumExp(std::vector<double>{kInfinity, 3}), kInfinity);
  EXPECT_TRUE(std::isnan(LogSumExp(std::vector<double>{kInfinity, std::nan("")})));
}

TEST(CompensatedSumTest, KeepsWhatAPlainSumLoses) {
  EXPECT_EQ(Sum(std::vector<double>{1, 1e100, 1, -1e100}), 2);
  EXPECT_NEAR(Sum(std::vector<double>(1'000'000, 0.1)), 100'000, 1e-11);
}

TEST(CompensatedSumTest, LetsInfinityAndNanThrough) {
  EXPECT_EQ(Sum(std::vector<double>{1, kInfinity, 2}), kInfinity);
  EXPECT_TRUE(std::isnan(Sum(std::vector<double>{1, std::nan(""), 2})));
}

}  // namespace pmf_test
}  // namespace submix::divergence
