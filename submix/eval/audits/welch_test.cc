#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/status_matchers.h"
#include "submix/eval/audits/timing_audit.h"

namespace submix::eval {
namespace welch_test {

// The examples of the article on the test in Wikipedia, which gives t, degrees of freedom and p to
// two or three digits (2.46, 25.0, 0.021; 1.57, 9.9, 0.149); more digits by mpmath.
const std::vector<double> kFirst1 = {27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1,
                                     21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4};
const std::vector<double> kSecond1 = {27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0,
                                      24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4};
const std::vector<double> kFirst2 = {17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8};
const std::vector<double> kSecond2 = {21.5, 22.8, 21.0, 23.0, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8,
                                      20.7, 21.7, 21.5, 22.5, 23.6, 21.5, 22.5, 23.5, 21.5, 21.8};

TEST(WelchsTest, GivesThePublishedNumbersForEqualVariances) {
  const auto result = WelchTest(kFirst1, kSecond1);
  ASSERT_THAT(result, base::IsOk());
  EXPECT_NEAR(result->difference, 2.16666666667, 1e-9);
  EXPECT_NEAR(result->standard_error, 0.882424510014, 1e-9);
  EXPECT_NEAR(result->t, 2.45535639829, 1e-9);
  EXPECT_NEAR(result->degrees_of_freedom, 24.9885292902, 1e-8);
  EXPECT_NEAR(result->p_value, 0.0213780014629, 1e-10);
  EXPECT_NEAR(result->detectable_difference, 2.57299938897, 1e-8);
}

TEST(WelchsTest, GivesThePublishedNumbersForUnequalVariancesAndSizes) {
  const auto result = WelchTest(kFirst2, kSecond2);
  ASSERT_THAT(result, base::IsOk());
  EXPECT_NEAR(result->t, 1.5654335236, 1e-9);
  EXPECT_NEAR(result->degrees_of_freedom, 9.90474124865, 1e-8);
  EXPECT_NEAR(result->p_value, 0.148841696605, 1e-10);
  EXPECT_NEAR(result->detectable_difference, 3.03013901623, 1e-8);
  const auto exchanged = WelchTest(kSecond2, kFirst2);
  ASSERT_THAT(exchanged, base::IsOk());
  EXPECT_EQ(exchanged->t, -result->t);
  EXPECT_EQ(exchanged->p_value, result->p_value);
}

TEST(WelchsTest, RefusesWhatHasNoVariance) {
  const std::vector<double> one = {1};
  const std::vector<double> equal = {2, 2, 2};
  EXPECT_EQ(WelchTest(one, equal).status().code(), base::StatusCode::kInvalidArgument);
  EXPECT_EQ(WelchTest(equal, equal).status().code(), base::StatusCode::kInvalidArgument);
}

}  // namespace welch_test
}  // namespace submix::eval
