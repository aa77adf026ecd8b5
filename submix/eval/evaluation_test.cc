#include "submix/eval/evaluation.h"

#include <cmath>

#include "submix/base/testing/status_matchers.h"
#include "submix/ensemble/testing/fake_predictor.h"

namespace submix::eval {
namespace {

using base::StatusCode;
using base::StatusIs;
using testing::HasSubstr;

constexpr int kParts = 8;
constexpr int kVocabulary = 50;

HeldoutBlocks MakeBlocks(int blocks, int tokens) {
  HeldoutBlocks result;
  for (int b = 0; b < blocks; ++b) {
    std::vector<base::TokenId> block;
    for (int t = 0; t < tokens; ++t) block.push_back((7 * b + 3 * t * t) % kVocabulary);
    result.push_back(block);
  }
  return result;
}

EvaluationPlan MakePlan() {
  EvaluationPlan plan;
  plan.num_parts = kParts;
  plan.queries = 50;
  plan.runs = 4;
  plan.settings.push_back({});
  return plan;
}

base::StatusOr<EvaluationResult> RunEvaluation(ensemble::Predictor& predictor,
                                               const HeldoutBlocks& blocks,
                                               const EvaluationPlan& plan) {
  base::ProgressBar progress("test", 0, "", base::ProgressStyle::kSilent);
  return Evaluate(predictor, blocks, plan, progress);
}

// The public perplexity of the fake predictor, by its formula.
double PublicLoss(base::TokenId last, base::TokenId next) {
  double sum = 0;
  for (int x = 0; x < kVocabulary; ++x) sum += std::exp(2 * std::cos(1.7 * x + 0.9 * last));
  return std::log(sum) - 2 * std::cos(1.7 * next + 0.9 * last);
}

TEST(EvaluationTest, PublicPerplexityIsTheExponentialOfTheMeanLossOfEachRun) {
  ensemble::FakePredictor predictor(kParts, kVocabulary, 0.3);
  const HeldoutBlocks blocks = MakeBlocks(5, 41);  // 200 positions: runs cross blocks
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult result,
                              RunEvaluation(predictor, blocks, MakePlan()));
  ASSERT_EQ(result.public_model.runs.size(), 4u);
  double loss = 0;
  int queries = 0;
  for (const auto& block : blocks) {
    for (std::size_t t = 1; t < block.size() && queries < 50; ++t, ++queries) {
      loss += PublicLoss(block[t - 1], block[t]);
    }
  }
  EXPECT_NEAR(result.public_model.runs[0], std::exp(loss / 50), 1e-4 * std::exp(loss / 50));
}

TEST(EvaluationTest, EveryRunHasAFreshBudgetAndNeverOverspendsIt) {
  ensemble::FakePredictor predictor(kParts, kVocabulary, 1.0);
  EvaluationPlan plan = MakePlan();
  plan.settings[0].epsilon = 0.05;
  plan.settings[0].mechanism.target_leakage = 0.02;
  plan.settings.push_back(plan.settings[0]);
  plan.settings[1].epsilon = 1000;
  plan.settings[1].mechanism.target_leakage = 20;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult result,
                              RunEvaluation(predictor, MakeBlocks(5, 41), plan));
  EXPECT_LE(result.settings[0].epsilon_spent_max, 0.05);
  EXPECT_GT(result.settings[0].epsilon_spent_max, 0.01);
  EXPECT_GT(result.settings[1].epsilon_spent_max, result.settings[0].epsilon_spent_max);
  EXPECT_LE(result.settings[1].epsilon_spent_mean, result.settings[1].epsilon_spent_max);
}

TEST(EvaluationTest, ATinyBudgetIsThePublicModelAndALargeOneApproachesTheEnsemble) {
  ensemble::FakePredictor predictor(kParts, kVocabulary, 1.0);
  EvaluationPlan plan = MakePlan();
  plan.settings[0].epsilon = 1e-9;
  plan.settings.push_back({});
  plan.settings[1].epsilon = 4000;
  plan.settings[1].mechanism.target_leakage = 80;
  plan.settings[1].mechanism.max_mixing_weight = 1;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult result,
                              RunEvaluation(predictor, MakeBlocks(5, 41), plan));
  EXPECT_NEAR(result.settings[0].perplexity.mean(), result.public_model.mean(), 0.02);
  EXPECT_NEAR(result.settings[1].perplexity.mean(), result.ensemble.mean(), 0.02);
}

TEST(EvaluationTest, TheBaselinesAreMechanismsToo) {
  ensemble::FakePredictor predictor(kParts, kVocabulary, 1.0);
  EvaluationPlan plan = MakePlan();
  plan.settings[0].mechanism.name = "public";
  plan.settings.push_back({});
  plan.settings[1].mechanism.name = "ensemble";
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult result,
                              RunEvaluation(predictor, MakeBlocks(5, 41), plan));
  EXPECT_NEAR(result.settings[0].perplexity.mean(), result.public_model.mean(), 1e-9);
  EXPECT_NEAR(result.settings[1].perplexity.mean(), result.ensemble.mean(), 1e-9);
  for (const SettingResult& setting : result.settings) EXPECT_EQ(setting.epsilon_spent_max, 0);
}

TEST(EvaluationTest, MechanismsWithNoiseSpendTheirConstant) {
  ensemble::FakePredictor predictor(kParts, kVocabulary, 1.0);
  EvaluationPlan plan = MakePlan();
  plan.settings.clear();
  for (const char* name : {"gnmax", "dp-decoding", "sample-and-aggregate"}) {
    plan.settings.emplace_back().mechanism.name = name;
  }
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult result,
                              RunEvaluation(predictor, MakeBlocks(5, 41), plan));
  for (const SettingResult& setting : result.settings) {
    EXPECT_LE(setting.epsilon_spent_max, 2);
    EXPECT_GT(setting.epsilon_spent_mean, 1.999) << setting.setting.mechanism.name;
    EXPECT_TRUE(std::isfinite(setting.perplexity.mean()));
  }
}

TEST(EvaluationTest, FineTunedRowsAreScoredApartFromTheMembers) {
  ensemble::FakePredictor with_two(kParts + 2, kVocabulary, 0.5);
  EvaluationPlan plan = MakePlan();
  plan.num_fine_tuned = 2;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult result,
                              RunEvaluation(with_two, MakeBlocks(5, 41), plan));
  ASSERT_EQ(result.fine_tuned.size(), 2u);
  EXPECT_NE(result.fine_tuned[0].mean(), result.fine_tuned[1].mean());
  ensemble::FakePredictor without(kParts, kVocabulary, 0.5);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult alone,
                              RunEvaluation(without, MakeBlocks(5, 41), MakePlan()));
  EXPECT_EQ(alone.ensemble.runs, result.ensemble.runs);
}

TEST(EvaluationTest, RefusesTooLittleTextAndMissingPairs) {
  ensemble::FakePredictor predictor(kParts, kVocabulary, 0.5);
  EXPECT_THAT(RunEvaluation(predictor, MakeBlocks(1, 41), MakePlan()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("40 positions")));
  EvaluationPlan plan = MakePlan();
  plan.settings[0].mechanism.name = "submix";
  EXPECT_THAT(RunEvaluation(predictor, MakeBlocks(5, 41), plan),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--halves 2")));
}

TEST(KeptTest, IsTheShareOfTheGainWithAnIntervalOverRuns) {
  const PerplexityRuns open{{100, 120, 110}};
  const PerplexityRuns tuned{{50, 60, 55}};
  const PerplexityRuns half{{75, 90, 82.5}};
  const KeptShare kept = Kept(open, half, tuned);
  EXPECT_NEAR(kept.value, 0.5, 1e-12);
  EXPECT_NEAR(kept.low, 0.5, 1e-9);
  EXPECT_NEAR(kept.high, 0.5, 1e-9);
  const KeptShare uneven = Kept(open, {{80, 85, 95}}, tuned);
  EXPECT_LT(uneven.low, uneven.value);
  EXPECT_GT(uneven.high, uneven.value);
}

}  // namespace
}  // namespace submix::eval
