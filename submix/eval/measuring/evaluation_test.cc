#include "submix/eval/measuring/evaluation.h"

#include <cmath>
#include <utility>

#include "submix/base/testing/status_matchers.h"
#include "submix/ensemble/testing/fake_predictor.h"

namespace submix::eval {
namespace evaluation_test {

using base::StatusCode;
using base::StatusIs;
using testing::HasSubstr;

constexpr int kParts = 8;
constexpr int kVocabulary = 50;

HeldoutText MakeText(int blocks, int tokens) {
  HeldoutText result;
  for (int b = 0; b < blocks; ++b) {
    std::vector<base::TokenId> block;
    for (int t = 0; t < tokens; ++t) block.push_back((7 * b + 3 * t * t) % kVocabulary);
    result.blocks.push_back(block);
    result.users.push_back(std::to_string(b));
  }
  return result;
}

EvaluationSetting SettingOf(const std::string& mechanism) {
  EvaluationSetting setting;
  setting.mechanism.name = mechanism;
  setting.tokens = 50;
  return setting;
}

EvaluationPlan MakePlan() {
  EvaluationPlan plan;
  plan.num_parts = kParts;
  plan.runs = 4;
  plan.settings.push_back(SettingOf("filtered-submix"));
  return plan;
}

base::StatusOr<EvaluationResult> RunEvaluation(ensemble::Predictor& predictor,
                                               const HeldoutText& text,
                                               const EvaluationPlan& plan) {
  base::ProgressBar progress("test", 0, "", base::ProgressStyle::kSilent);
  return Evaluate(predictor, text, plan, progress);
}

// The public perplexity of the fake predictor, by its formula.
double PublicLoss(base::TokenId last, base::TokenId next) {
  double sum = 0;
  for (int x = 0; x < kVocabulary; ++x) sum += std::exp(2 * std::cos(1.7 * x + 0.9 * last));
  return std::log(sum) - 2 * std::cos(1.7 * next + 0.9 * last);
}

// The loss of the public model over positions [begin, end) of the text, by its formula.
double PublicLossOf(const HeldoutText& text, int begin, int end) {
  double loss = 0;
  int position = 0;
  for (const auto& block : text.blocks) {
    for (std::size_t t = 1; t < block.size(); ++t, ++position) {
      if (position >= begin && position < end) loss += PublicLoss(block[t - 1], block[t]);
    }
  }
  return loss;
}

TEST(FitToTextTest, TakesFewerRunsThenFewerTokens) {
  EXPECT_EQ(FitToText(4096, {4, {1024}}), (RunLengths{4, {1024}}));
  EXPECT_EQ(FitToText(4095, {4, {1024}}), (RunLengths{3, {1024}}));
  EXPECT_EQ(FitToText(1133, {4, {256, 1024}}), (RunLengths{1, {256, 1024}}));
  EXPECT_EQ(FitToText(700, {4, {256, 1024, 10'240}}), (RunLengths{1, {256, 700}}));
  EXPECT_EQ(FitToText(0, {4, {1024}}), (RunLengths{4, {1024}})) << "nothing fits";
}

TEST(EvaluationTest, PublicPerplexityIsTheExponentialOfTheMeanLossOfEachRun) {
  ensemble::FakePredictor predictor(kParts, kVocabulary, 0.3);
  const HeldoutText text = MakeText(5, 41);  // 200 positions: runs cross blocks
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult result,
                              RunEvaluation(predictor, text, MakePlan()));
  ASSERT_EQ(result.baselines.size(), 1u);
  const Baselines& baselines = result.baselines[0];
  ASSERT_EQ(baselines.public_model.runs.size(), 4u);
  const double loss = PublicLossOf(text, 0, 50);
  EXPECT_NEAR(baselines.public_model.runs[0], std::exp(loss / 50), 1e-4 * std::exp(loss / 50));
}

TEST(EvaluationTest, LossesOfUsersAreThoseOfTheirPositionsOverAllRuns) {
  ensemble::FakePredictor predictor(kParts, kVocabulary, 0.3);
  HeldoutText text = MakeText(5, 41);
  text.users = {"a", "a", "b", "c", "c"};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult result,
                              RunEvaluation(predictor, text, MakePlan()));
  const auto& users = result.baselines[0].public_model.users;
  ASSERT_EQ(users.size(), 3u);
  const std::vector<int> bounds = {0, 80, 120, 200};
  for (std::size_t i = 0; i < users.size(); ++i) {
    EXPECT_EQ(users[i].user, static_cast<int>(i));
    EXPECT_EQ(users[i].positions, bounds[i + 1] - bounds[i]);
    const double expected = PublicLossOf(text, bounds[i], bounds[i + 1]);
    EXPECT_NEAR(users[i].nats, expected, 1e-4 * expected);
  }
  double nats = 0;
  for (const UserLoss& user : result.settings[0].perplexity.users) nats += user.nats;
  EXPECT_NEAR(std::exp(nats / 200), result.settings[0].perplexity.corpus(), 1e-9);
}

// Of conversations the answers: positions are those that count, wherever blocks end.
TEST(EvaluationTest, WhatDoesNotCountIsReadAndNotScored) {
  ensemble::FakePredictor predictor(kParts, kVocabulary, 0.3);
  const HeldoutText plain = MakeText(12, 41);
  HeldoutText text = plain;
  double loss = 0;
  int position = 0;
  for (std::size_t b = 0; b < text.blocks.size(); ++b) {
    for (std::size_t t = 0; t < text.blocks[b].size(); ++t) {
      const base::TokenId token = plain.blocks[b][t];
      if ((b + t) % 3 != 0) {
        text.blocks[b][t] = corpus::Uncounted(token);
      } else if (t > 0 && position++ < 50) {
        loss += PublicLoss(plain.blocks[b][t - 1], token);
      }
    }
  }
  EXPECT_EQ(CountScoredTokens(text.blocks), position);
  EXPECT_EQ(CountPredictedTokens(text.blocks), 12 * 40);
  EvaluationPlan plan = MakePlan();
  plan.runs = 3;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult result, RunEvaluation(predictor, text, plan));
  EXPECT_NEAR(result.baselines[0].public_model.runs[0], std::exp(loss / 50),
              1e-4 * std::exp(loss / 50));
  plan.runs = 4;
  EXPECT_THAT(RunEvaluation(predictor, text, plan),
              base::StatusIs(base::StatusCode::kInvalidArgument,
                             ::testing::HasSubstr(std::to_string(position) + " positions")));
}

TEST(EvaluationTest, AccuracyIsTheShareOfTokensThatAreMostLikely) {
  ensemble::FakePredictor predictor(kParts, kVocabulary, 0.3);
  const HeldoutText text = MakeText(5, 41);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult result,
                              RunEvaluation(predictor, text, MakePlan()));
  int hits = 0;
  for (const auto& block : text.blocks) {
    for (std::size_t t = 1; t < block.size(); ++t) {
      bool is_hit = true;
      for (base::TokenId other = 0; other < kVocabulary; ++other) {
        if (PublicLoss(block[t - 1], other) < PublicLoss(block[t - 1], block[t])) is_hit = false;
      }
      hits += is_hit ? 1 : 0;
    }
  }
  EXPECT_GT(hits, 0);
  EXPECT_EQ(result.baselines[0].public_model.accuracy_runs.size(), 4u);
  EXPECT_NEAR(result.baselines[0].public_model.accuracy(), hits / 200.0, 1e-12);
  // A mechanism that is the public model has its accuracy; every other one its own.
  EvaluationPlan plan = MakePlan();
  plan.settings = {SettingOf("public"), SettingOf("ensemble")};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult as_models,
                              RunEvaluation(predictor, text, plan));
  const Baselines& models = as_models.baselines[0];
  EXPECT_EQ(as_models.settings[0].perplexity.accuracy_runs, models.public_model.accuracy_runs);
  EXPECT_EQ(as_models.settings[1].perplexity.accuracy_runs, models.ensemble.accuracy_runs);
}

// Of labels: the vocabulary of a position is what it is chosen from.
TEST(EvaluationTest, ChoicesAreScoredAmongThemselves) {
  ensemble::FakePredictor predictor(kParts, kVocabulary, 0.3);
  HeldoutText text;
  double loss = 0;
  double probability = 0;
  int hits = 0;
  for (int i = 0; i < 200; ++i) {
    const base::TokenId last = (7 * i) % kVocabulary;
    const base::TokenId a = i % 20;
    const base::TokenId b = 20 + (3 * i) % 30;
    const base::TokenId label = i % 3 == 0 ? a : b;
    text.blocks.push_back({corpus::Uncounted(1), corpus::Uncounted(last), label});
    text.choices.push_back({a, b});
    text.users.push_back(std::to_string(i));
    const double of_label = std::exp(-PublicLoss(last, label));
    const double of_other = std::exp(-PublicLoss(last, label == a ? b : a));
    loss -= std::log(of_label / (of_label + of_other));
    probability += of_label / (of_label + of_other);
    hits += of_label >= of_other ? 1 : 0;
  }
  EvaluationPlan plan = MakePlan();
  plan.settings.push_back(SettingOf("public"));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult result, RunEvaluation(predictor, text, plan));
  for (const PerplexityRuns& runs :
       {result.baselines[0].public_model, result.settings[1].perplexity}) {
    EXPECT_NEAR(runs.corpus(), std::exp(loss / 200), 1e-5);
    EXPECT_NEAR(runs.accuracy(), hits / 200.0, 1e-12);
    EXPECT_NEAR(runs.probability(), probability / 200, 1e-6);
  }
  EXPECT_NE(result.settings[0].perplexity.probability(),
            result.settings[1].perplexity.probability());
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
                              RunEvaluation(predictor, MakeText(5, 41), plan));
  EXPECT_LE(result.settings[0].epsilon_spent_max, 0.05);
  EXPECT_GT(result.settings[0].epsilon_spent_max, 0.01);
  EXPECT_GT(result.settings[1].epsilon_spent_max, result.settings[0].epsilon_spent_max);
  EXPECT_LE(result.settings[1].epsilon_spent_mean, result.settings[1].epsilon_spent_max);
}

TEST(EvaluationTest, ATinyBudgetIsThePublicModelAndALargeOneApproachesTheEnsemble) {
  ensemble::FakePredictor predictor(kParts, kVocabulary, 1.0);
  EvaluationPlan plan = MakePlan();
  plan.settings[0].epsilon = 1e-9;
  plan.settings.push_back(SettingOf("filtered-submix"));
  plan.settings[1].epsilon = 4000;
  plan.settings[1].mechanism.target_leakage = 80;
  plan.settings[1].mechanism.max_mixing_weight = 1;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult result,
                              RunEvaluation(predictor, MakeText(5, 41), plan));
  EXPECT_NEAR(result.settings[0].perplexity.corpus(), result.baselines[0].public_model.corpus(),
              0.02);
  EXPECT_NEAR(result.settings[1].perplexity.corpus(), result.baselines[0].ensemble.corpus(), 0.02);
}

// A run of 700 positions has a block of 512 and one of 188. The text alternates so that the two
// blocks have losses of their own.
TEST(EvaluationTest, PerplexityOfBlocksIsTheMeanOfTheirExponentials) {
  ensemble::FakePredictor predictor(kParts, kVocabulary, 1.0);
  EvaluationPlan plan = MakePlan();
  const HeldoutText text = MakeText(20, 41);
  const auto perplexity = [&](std::int64_t tokens, int runs) {
    plan.settings = {SettingOf("public")};
    plan.settings[0].tokens = tokens;
    plan.runs = runs;
    return RunEvaluation(predictor, text, plan).value().baselines[0].public_model;
  };
  const PerplexityRuns whole = perplexity(700, 1);
  const double first = perplexity(512, 1).runs[0];
  // The loss of the rest follows from that of the whole and of the first block.
  const double rest = std::exp((700 * std::log(whole.runs[0]) - 512 * std::log(first)) / 188);
  EXPECT_NEAR(whole.block_runs[0], (first + rest) / 2, 1e-9);
  const PerplexityRuns short_runs = perplexity(100, 7);
  EXPECT_EQ(short_runs.block_runs, short_runs.runs);
  EXPECT_NEAR(short_runs.corpus(), whole.corpus(), 1e-9);
}

TEST(EvaluationTest, TheBaselinesAreMechanismsToo) {
  ensemble::FakePredictor predictor(kParts, kVocabulary, 1.0);
  EvaluationPlan plan = MakePlan();
  plan.settings = {SettingOf("public"), SettingOf("ensemble")};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult result,
                              RunEvaluation(predictor, MakeText(5, 41), plan));
  EXPECT_NEAR(result.settings[0].perplexity.corpus(), result.baselines[0].public_model.corpus(),
              1e-9);
  EXPECT_NEAR(result.settings[1].perplexity.corpus(), result.baselines[0].ensemble.corpus(), 1e-9);
  for (const SettingResult& setting : result.settings) EXPECT_EQ(setting.epsilon_spent_max, 0);
}

TEST(EvaluationTest, MechanismsWithNoiseSpendTheirConstant) {
  ensemble::FakePredictor predictor(kParts, kVocabulary, 1.0);
  EvaluationPlan plan = MakePlan();
  plan.settings.clear();
  for (const char* name : {"gnmax", "dp-decoding", "sample-and-aggregate"}) {
    plan.settings.push_back(SettingOf(name));
  }
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult result,
                              RunEvaluation(predictor, MakeText(5, 41), plan));
  for (const SettingResult& setting : result.settings) {
    EXPECT_LE(setting.epsilon_spent_max, 2);
    EXPECT_GT(setting.epsilon_spent_mean, 1.999) << setting.setting.mechanism.name;
    EXPECT_TRUE(std::isfinite(setting.perplexity.corpus()));
  }
}

TEST(EvaluationTest, FineTunedRowsAreScoredApartFromTheMembers) {
  ensemble::FakePredictor with_two(kParts + 2, kVocabulary, 0.5);
  EvaluationPlan plan = MakePlan();
  plan.num_fine_tuned = 2;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult result,
                              RunEvaluation(with_two, MakeText(5, 41), plan));
  const std::vector<PerplexityRuns>& fine_tuned = result.baselines[0].fine_tuned;
  ASSERT_EQ(fine_tuned.size(), 2u);
  EXPECT_NE(fine_tuned[0].corpus(), fine_tuned[1].corpus());
  ensemble::FakePredictor without(kParts, kVocabulary, 0.5);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult alone,
                              RunEvaluation(without, MakeText(5, 41), MakePlan()));
  EXPECT_EQ(alone.baselines[0].ensemble.runs, result.baselines[0].ensemble.runs);
}

TEST(EvaluationTest, FewerQueriesAreMoreRunsOnTheSameText) {
  ensemble::FakePredictor predictor(kParts, kVocabulary, 1.0);
  const HeldoutText text = MakeText(5, 41);
  EvaluationPlan plan = MakePlan();
  plan.runs = 3;
  for (const std::int64_t tokens : {20, 50, 40}) {
    plan.settings.push_back(SettingOf("filtered-submix"));
    plan.settings.back().tokens = tokens;
  }
  EXPECT_EQ(NumPositions(plan), 150);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult result, RunEvaluation(predictor, text, plan));
  ASSERT_EQ(result.baselines.size(), 3u);
  ASSERT_EQ(result.settings.size(), 4u);
  const std::vector<std::pair<std::int64_t, int>> runs = {{20, 7}, {40, 3}, {50, 3}};
  for (std::size_t b = 0; b < runs.size(); ++b) {
    const auto [tokens, count] = runs[b];
    const Baselines& baselines = result.baselines[b];
    EXPECT_EQ(baselines.tokens, tokens);
    ASSERT_EQ(std::ssize(baselines.public_model.runs), count);
    for (int run = 0; run < count; ++run) {
      const int size = static_cast<int>(tokens);
      const double expected = std::exp(PublicLossOf(text, run * size, (run + 1) * size) / size);
      EXPECT_NEAR(baselines.public_model.runs[static_cast<std::size_t>(run)], expected,
                  1e-4 * expected);
    }
  }
  for (std::size_t i = 0; i < result.settings.size(); ++i) {
    const SettingResult& setting = result.settings[i];
    EXPECT_EQ(setting.setting.tokens, plan.settings[i].tokens);
    EXPECT_EQ(setting.setting.mechanism.target_leakage,
              2.0 / static_cast<double>(setting.setting.tokens));
    EXPECT_EQ(setting.perplexity.runs.size(), result.BaselinesOf(setting).public_model.runs.size());
    EXPECT_EQ(result.BaselinesOf(setting).tokens, setting.setting.tokens);
    EXPECT_LE(setting.epsilon_spent_max, 2);
    EXPECT_GT(setting.epsilon_spent_max, 0);
  }
  EXPECT_EQ(result.settings[0].perplexity.runs, result.settings[2].perplexity.runs);

  // The first ones, where no more are asked for; those of the most tokens are all made.
  plan.most_runs = 2;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult few, RunEvaluation(predictor, text, plan));
  for (std::size_t i = 0; i < few.settings.size(); ++i) {
    std::vector<double> expected = result.settings[i].perplexity.runs;
    expected.resize(3);
    EXPECT_EQ(few.settings[i].perplexity.runs, expected);
  }
}

TEST(EvaluationTest, RefusesTooLittleTextAndMissingPairs) {
  ensemble::FakePredictor predictor(kParts, kVocabulary, 0.5);
  EXPECT_THAT(RunEvaluation(predictor, MakeText(1, 41), MakePlan()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("40 positions")));
  EvaluationPlan plan = MakePlan();
  plan.settings[0].mechanism.name = "submix";
  EXPECT_THAT(RunEvaluation(predictor, MakeText(5, 41), plan),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--halves 2")));
  plan.settings.clear();
  EXPECT_THAT(RunEvaluation(predictor, MakeText(5, 41), plan),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no setting")));
  plan.settings.push_back(SettingOf("filtered-submix"));
  plan.settings[0].tokens = 0;
  EXPECT_THAT(RunEvaluation(predictor, MakeText(5, 41), plan),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("tokens")));
}

}  // namespace evaluation_test
}  // namespace submix::eval
