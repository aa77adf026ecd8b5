#include "submix/eval/measuring/contenders.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "submix/accounting/calculators/counted_release.h"
#include "submix/accounting/calculators/rdp_accountant.h"
#include "submix/accounting/privacy_statement.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/mechanism/declaring/make_mechanism.h"
#include "submix/mechanism/declaring/recommended_options.h"

namespace submix::eval {
namespace contenders_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;

constexpr PlanInput kBlogs = {3600, 2400, 8, 1e-5, 10'240};

const std::vector<Contender>& ContendersOfBlogs() {
  static const std::vector<Contender> contenders = Contenders(kBlogs).value();
  return contenders;
}

const Contender* Find(const std::vector<Contender>& contenders, const std::string& mechanism,
                      int parts) {
  for (const Contender& contender : contenders) {
    if (contender.is_over_dp_sgd()) continue;
    if (contender.mechanism == mechanism && contender.parts == parts) return &contender;
  }
  return nullptr;
}

// What `submix deploy` prints of this declaration for one user.
double DeployedUserEpsilon(const Contender& ensemble) {
  mechanism::MechanismOptions options;
  options.name = ensemble.mechanism;
  options.num_parts = ensemble.parts;
  mechanism::Recommend(ensemble.parts, ensemble.input.tokens, options);
  options.order = ensemble.order;
  options.target_leakage = ensemble.target_leakage;
  const auto mechanism = mechanism::MakeMechanism(options).value();
  const auto bounds =
      accounting::StatedUserLevelBounds(mechanism->Statement(accounting::FixedNats::RoundDown(
          ensemble.target_leakage * static_cast<double>(ensemble.input.tokens))));
  return accounting::BestEpsilon(bounds, ensemble.input.delta,
                                 accounting::ConversionKind::kImproved)
      ->epsilon;
}

TEST(ContendersTest, PromiseNoMoreThanWasAskedToTheLastBit) {
  PlanInput input = kBlogs;
  input.users = 85;  // few: one number of parts is tried
  input.epsilon = 3;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto contenders, Contenders(input));
  ASSERT_EQ(contenders.size(), 3);
  for (const Contender& contender : contenders) {
    EXPECT_LE(contender.user_epsilon, input.epsilon) << contender.mechanism;
  }
}

TEST(ContendersTest, WhereNothingIsKnownTheNarrowestWindowIsNotFirst) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto contenders, Contenders({1e6, 300, 4, 1e-7, 1'000'000}));
  ASSERT_EQ(contenders.size(), 13);
  EXPECT_EQ(contenders[0].mechanism, "dp-sgd");
  for (std::size_t i = 1; i < contenders.size(); ++i) {
    EXPECT_FALSE(contenders[i].expected_share);
  }
  EXPECT_TRUE(std::ranges::is_sorted(contenders.begin() + 1, contenders.end(), std::greater<>(),
                                     &Contender::reach));
}

TEST(ContendersTest, NothingIsExpectedOfAModelThatNobodyMeasured) {
  PlanInput input = kBlogs;
  input.model = std::nullopt;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto contenders, Contenders(input));
  for (const Contender& contender : contenders) EXPECT_FALSE(contender.expected_share);
  EXPECT_THAT(ContendersThatKeep(.5, Unknown::kUsers, input),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("public model of this shape")));
}

TEST(ContendersTest, TooFewUsersForAnEnsembleAreToldSo) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto contenders, Contenders({60, 2400, 8, 1e-6, 1024}));
  ASSERT_EQ(contenders.size(), 1);
  EXPECT_FALSE(contenders[0].is_ensemble());
  EXPECT_THAT(WhyNoEnsemble(contenders[0].input), HasSubstr("64 users with 32000 tokens"));
  EXPECT_NE(WhyNoEnsemble({64, 499, 8, 1e-6, 1024}), "");
  EXPECT_EQ(WhyNoEnsemble({64, 500, 8, 1e-6, 1024}), "");
}

TEST(ContendersTest, PromiseAUserWhatWasAskedAndWhatDeployPrints) {
  ASSERT_EQ(ContendersOfBlogs().size(), 13);
  for (const Contender& contender : ContendersOfBlogs()) {
    EXPECT_LE(contender.user_epsilon, kBlogs.epsilon) << contender.mechanism;
    if (!contender.is_ensemble()) {
      EXPECT_GT(contender.user_epsilon, 0.97 * kBlogs.epsilon);  // noise of whole hundredths
      continue;
    }
    EXPECT_GE(contender.tokens, kBlogs.tokens);
    EXPECT_LT(*contender.part_epsilon, contender.user_epsilon);
    const double deployed = DeployedUserEpsilon(contender);
    EXPECT_NEAR(contender.user_epsilon, deployed, 1e-9 * deployed)
        << contender.mechanism << " " << contender.parts;
  }
}

// The calculators' orders are not all of a statement's: at these numbers they say 8.002 of dclip.
TEST(ContendersTest, NeverShowMoreThanWasAskedFor) {
  for (const double epsilon : {1.3, 8.0}) {
    const PlanInput input = {80, 2400, epsilon, 1e-3, 1024};
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto contenders, Contenders(input));
    for (const Contender& contender : contenders) {
      EXPECT_LE(std::stod(accounting::FormatCost(contender.user_epsilon)), epsilon)
          << contender.mechanism;
    }
  }
}

TEST(ContendersTest, AreRankedByWhatTheyKeepAndThoseThatNobodyMeasuredAreLast) {
  const std::vector<Contender>& contenders = ContendersOfBlogs();
  for (std::size_t i = 1; i < contenders.size(); ++i) {
    EXPECT_GE(contenders[i - 1].expected_share.value_or(-1),
              contenders[i].expected_share.value_or(-1));
  }
  ASSERT_TRUE(contenders.front().expected_share.has_value());
  EXPECT_FALSE(Find(contenders, "dclip", 512)->expected_share.has_value());
  EXPECT_EQ(Find(contenders, "dclip", 64)->passes, 3);
  EXPECT_EQ(Find(contenders, "dclip", 16)->passes, 1);  // three passes of 16 parts: not measured
}

TEST(ContendersTest, ShareAPromiseOutBetweenTrainingAndAnswers) {
  PlanInput input = kBlogs;
  input.tokens_a_user = 400;
  input.tokens = 1024;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto contenders, Contenders(input));
  const auto both = std::ranges::find_if(contenders, &Contender::is_over_dp_sgd);
  ASSERT_NE(both, contenders.end());
  EXPECT_LE(both->user_epsilon, input.epsilon);
  EXPECT_GT(both->user_epsilon, 0.97 * input.epsilon);
  EXPECT_LT(both->training_epsilon, both->user_epsilon);
  EXPECT_GE(both->tokens, input.tokens);
  // Over the public model the same ensemble has all of epsilon, and a wider window; with what the
  // training leaves by subtraction, a narrower one than with what the sum of both losses leaves.
  EXPECT_LT(*both->clip, *Find(contenders, both->mechanism, both->parts)->clip);
  input.epsilon -= both->training_epsilon;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto left, Contenders(input));
  EXPECT_GT(*both->clip, 1.2 * *Find(left, both->mechanism, both->parts)->clip);
}

TEST(ContendersTest, HaveNoMorePartsThanThereAreUsersAndTokensFor) {
  PlanInput input = kBlogs;
  input.users = 100;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto few, Contenders(input));
  EXPECT_NE(Find(few, "dclip", 16), nullptr);
  EXPECT_EQ(Find(few, "dclip", 32), nullptr);
  input.users = 10;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto private_training, Contenders(input));
  ASSERT_EQ(private_training.size(), 1);
  EXPECT_FALSE(private_training.front().is_ensemble());
  input = kBlogs;
  input.tokens_a_user = 10;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto short_texts, Contenders(input));
  EXPECT_EQ(Find(short_texts, "dclip", 32), nullptr);
  EXPECT_FALSE(short_texts.front().expected_share.has_value());
}

TEST(ContendersTest, LeaveOutWhatNoBudgetPaysFor) {
  PlanInput input = kBlogs;
  input.tokens = std::int64_t{1} << 52;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto for_ever, Contenders(input));
  EXPECT_EQ(Find(for_ever, "dclip", 64), nullptr);
  EXPECT_NE(Find(for_ever, "dp-sgd", 1), nullptr);
  input = kBlogs;
  input.epsilon = 1e-13;
  input.delta = 1e-12;
  EXPECT_THAT(Contenders(input), StatusIs(StatusCode::kInvalidArgument, HasSubstr("no budget")));
  for (const double bad : {0.0, -1.0, std::nan("")}) {
    input = kBlogs;
    input.epsilon = bad;
    EXPECT_THAT(Contenders(input), StatusIs(StatusCode::kInvalidArgument, HasSubstr("epsilon")));
    input = kBlogs;
    input.users = bad;
    EXPECT_THAT(Contenders(input), StatusIs(StatusCode::kInvalidArgument, HasSubstr("users")));
    input = kBlogs;
    input.tokens_a_user = bad;
    EXPECT_THAT(Contenders(input), StatusIs(StatusCode::kInvalidArgument, HasSubstr("tokens")));
  }
}

class WishTest : public testing::TestWithParam<Unknown> {};

// The number that is found keeps the share, and its row is the one that asking for it gives. A
// tenth less epsilon, a fifth more tokens, a tenth fewer users do not keep it.
TEST_P(WishTest, FindsTheLeastThatKeepsTheShare) {
  constexpr double kShare = 0.5;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto found, ContendersThatKeep(kShare, GetParam(), kBlogs));
  for (const Contender& one : found) EXPECT_GE(*one.expected_share, kShare);
  const Contender& best = found.front();
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto asked, Contenders(best.input));
  const Contender* const same = Find(asked, best.mechanism, best.parts);
  ASSERT_NE(same, nullptr);
  EXPECT_EQ(same->expected_share, best.expected_share);
  EXPECT_EQ(same->user_epsilon, best.user_epsilon);

  PlanInput harder = best.input;
  if (GetParam() == Unknown::kEpsilon) harder.epsilon *= 0.9;
  if (GetParam() == Unknown::kTokens) harder.tokens += harder.tokens / 5;
  if (GetParam() == Unknown::kUsers) harder.users = std::floor(0.9 * harder.users);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto asked_more, Contenders(harder));
  EXPECT_LT(asked_more.front().expected_share.value_or(-1), kShare);
}
INSTANTIATE_TEST_SUITE_P(All, WishTest,
                         testing::Values(Unknown::kEpsilon, Unknown::kTokens, Unknown::kUsers));

TEST(ContendersThatKeepTest, SaysThatNothingKeepsAsMuch) {
  PlanInput input = kBlogs;
  input.users = 100;  // where users are given, 16 parts: more are searched in the same way
  for (const Unknown unknown : {Unknown::kEpsilon, Unknown::kTokens, Unknown::kUsers}) {
    EXPECT_THAT(ContendersThatKeep(0.99, unknown, input),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("nothing that was measured")));
  }
}

TEST(DeltaForTest, IsAPowerOfTenAtMostATenthOfOneOverTheUsers) {
  EXPECT_EQ(DeltaFor(3600), 1e-5);
  EXPECT_EQ(DeltaFor(1000), 1e-4);
  EXPECT_EQ(DeltaFor(1001), 1e-5);
  EXPECT_EQ(DeltaFor(1), 0.1);
}

}  // namespace contenders_test
}  // namespace submix::eval
