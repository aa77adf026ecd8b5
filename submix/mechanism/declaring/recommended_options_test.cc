#include "submix/mechanism/declaring/recommended_options.h"

#include <gtest/gtest.h>

#include "submix/accounting/privacy_statement.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/mechanism/declaring/make_mechanism.h"

namespace submix::mechanism {
namespace recommended_options_test {

MechanismOptions Recommended(const char* name, int num_parts, std::int64_t tokens) {
  MechanismOptions options;
  options.name = name;
  options.num_parts = num_parts;
  options.order = RecommendedOrder();
  options.target_leakage = 2 / static_cast<double>(tokens);
  Recommend(num_parts, tokens, options);
  return options;
}

// The default budget, two nats, is no more than an epsilon of 10 for one user at the default delta.
TEST(RecommendedOptionsTest, TheDefaultBudgetMeansSomethingForOneUser) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto mechanism,
                              MakeMechanism(Recommended("filtered-submix", 32, 1024)));
  const auto user =
      accounting::UserLevelStatement(mechanism->Statement(accounting::FixedNats::RoundDown(2)));
  ASSERT_TRUE(user.has_value());
  const auto epsilon = accounting::BestEpsilon(accounting::StatedBounds(*user), user->delta,
                                               accounting::ConversionKind::kImproved);
  ASSERT_TRUE(epsilon.ok());
  EXPECT_LT(epsilon->epsilon, 8);
}

TEST(RecommendedOptionsTest, FewAnswersOfManyPartsMaySayMore) {
  EXPECT_EQ(Recommended("filtered-submix", 32, 1024).max_mixing_weight, 0.4);
  EXPECT_EQ(Recommended("filtered-submix", 32, 64).max_mixing_weight, 0.5);
}

TEST(RecommendedOptionsTest, TheWindowIsTheOneMeasuredForItsWidth) {
  const ClipOptions narrow = {.stretch = 1.5, .centre = 0.5};
  const ClipOptions wide = {.stretch = 1.3, .centre = 0.7};
  EXPECT_EQ(Recommended("dclip", 32, 1024).clip, narrow);
  EXPECT_EQ(Recommended("filtered-submix", 32, 1024).clip, ClipOptions());
  EXPECT_EQ(Recommended("dclip", 64, 1024).clip, wide);
  EXPECT_EQ(Recommended("dclip", 64, 10240).clip, narrow);
  EXPECT_EQ(Recommended("dclip", 256, 10240).clip, wide);
}

TEST(RecommendedOptionsTest, EveryMechanismTakesThem) {
  for (const char* name : {"filtered-submix", "dclip", "filtered-dclip"}) {
    for (const int num_parts : {1, 8, 512}) {
      SUBMIX_EXPECT_OK(MakeMechanism(Recommended(name, num_parts, 64)).status());
    }
  }
}

}  // namespace recommended_options_test
}  // namespace submix::mechanism
