// An evaluation that is interrupted and run again gives the bits of one that never was.
#include <array>
#include <span>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ensemble/testing/fake_predictor.h"
#include "submix/eval/measuring/evaluation.h"

namespace submix::eval {
namespace resumed_evaluation_test {

using base::StatusCode;
using base::StatusIs;
using testing::HasSubstr;

constexpr int kParts = 4;
constexpr int kVocabulary = 30;
constexpr int kFineTuned = 1;
constexpr int kMembers = 2 * kParts + kFineTuned;

// Fails when it is to score more than so many positions, and counts them.
class InterruptedPredictor final : public ensemble::Predictor {
 public:
  explicit InterruptedPredictor(int positions) : left_(positions) {}

  int num_members() const override { return fake_.num_members(); }
  int vocab_size() const override { return fake_.vocab_size(); }
  int context_length() const override { return fake_.context_length(); }
  ensemble::SequenceId Open() override { return fake_.Open(); }
  void Close(ensemble::SequenceId sequence) override { fake_.Close(sequence); }
  base::Status Step(std::span<const Append> appends, std::span<float> logits) override {
    return fake_.Step(appends, logits);
  }
  base::Status Score(std::span<const base::TokenId> tokens, std::size_t first,
                     const PositionSink& sink) override {
    return fake_.Score(tokens, first, [&](std::size_t position, std::span<const float> logits) {
      if (left_-- == 0) return base::UnavailableError("interrupted");
      ++scored_;
      return sink(position, logits);
    });
  }

  int scored() const { return scored_; }

 private:
  ensemble::FakePredictor fake_{kMembers, kVocabulary, 1.0};
  int left_;
  int scored_ = 0;
};

HeldoutText MakeText() {
  HeldoutText text;
  for (int b = 0; b < 6; ++b) {
    std::vector<base::TokenId>& block = text.blocks.emplace_back();
    text.users.push_back(std::to_string(b / 4));  // of which the second has the end
    for (int t = 0; t < 26; ++t) block.push_back((7 * b + 3 * t * t) % kVocabulary);
  }
  return text;  // 150 positions
}

// Those whose answers do not depend on draws, then those whose answers do.
constexpr std::array kWithoutDraws = {"filtered-submix", "submix", "gnmax"};
constexpr std::array kWithDraws = {"pmixed", "sample-and-aggregate", "screened", "adapmixed"};

// Under 20 and 50 tokens; 100 positions.
EvaluationPlan MakePlanOf(std::span<const char* const> names) {
  EvaluationPlan plan;
  plan.num_parts = kParts;
  plan.halves = 2;
  plan.num_fine_tuned = kFineTuned;
  plan.runs = 2;
  for (const char* name : names) {
    EvaluationSetting setting;
    setting.epsilon = 200;
    setting.mechanism.name = name;
    setting.mechanism.ball_radius = 1;
    // The threshold is where the noise decides.
    setting.mechanism.screen = {
        .mixing_weight = 0.5, .noise_scale = 0.1, .threshold = 0.2, .top_tokens = 3};
    if (setting.mechanism.name == "pmixed") setting.mechanism.sampling_probability = 0.5;
    for (const std::int64_t tokens : {20, 50}) {
      setting.tokens = tokens;
      plan.settings.push_back(setting);
    }
  }
  return plan;
}

EvaluationPlan MakePlan() {
  std::vector<const char*> names(kWithoutDraws.begin(), kWithoutDraws.end());
  names.insert(names.end(), kWithDraws.begin(), kWithDraws.end());
  return MakePlanOf(names);
}

// For what does not depend on the mechanisms.
EvaluationPlan MakeSmallPlan() { return MakePlanOf(std::span(kWithoutDraws).first(2)); }

base::StatusOr<EvaluationResult> RunEvaluation(ensemble::Predictor& predictor,
                                               const EvaluationPlan& plan,
                                               const EvaluationCheckpoint& checkpoint = {},
                                               const HeldoutText& text = MakeText()) {
  base::ProgressBar progress("test", 0, "", base::ProgressStyle::kSilent);
  return Evaluate(predictor, text, plan, progress, checkpoint);
}

base::StatusOr<EvaluationResult> RunUninterrupted(const EvaluationPlan& plan) {
  InterruptedPredictor predictor(-1);
  return RunEvaluation(predictor, plan);
}

// Of MakePlan().
const EvaluationResult& Uninterrupted() {
  static const EvaluationResult result = RunUninterrupted(MakePlan()).value();
  return result;
}

void ExpectSame(const EvaluationResult& a, const EvaluationResult& b) {
  ASSERT_EQ(a.baselines.size(), b.baselines.size());
  for (std::size_t i = 0; i < a.baselines.size(); ++i) {
    EXPECT_EQ(a.baselines[i].tokens, b.baselines[i].tokens);
    EXPECT_EQ(a.baselines[i].public_model.runs, b.baselines[i].public_model.runs);
    EXPECT_EQ(a.baselines[i].public_model.users, b.baselines[i].public_model.users);
    EXPECT_EQ(a.baselines[i].single.runs, b.baselines[i].single.runs);
    EXPECT_EQ(a.baselines[i].ensemble.runs, b.baselines[i].ensemble.runs);
    EXPECT_EQ(a.baselines[i].fine_tuned.at(0).runs, b.baselines[i].fine_tuned.at(0).runs);
  }
  ASSERT_EQ(a.settings.size(), b.settings.size());
  for (std::size_t i = 0; i < a.settings.size(); ++i) {
    const SettingResult& x = a.settings[i];
    const SettingResult& y = b.settings[i];
    EXPECT_EQ(x.setting.mechanism.name, y.setting.mechanism.name);
    EXPECT_EQ(x.setting.tokens, y.setting.tokens);
    EXPECT_EQ(x.perplexity.runs, y.perplexity.runs) << x.setting.mechanism.name;
    EXPECT_EQ(x.perplexity.users, y.perplexity.users) << x.setting.mechanism.name;
    EXPECT_EQ(x.epsilon_spent_max, y.epsilon_spent_max) << x.setting.mechanism.name;
    EXPECT_EQ(x.epsilon_spent_mean, y.epsilon_spent_mean) << x.setting.mechanism.name;
  }
}

TEST(ResumedEvaluationTest, GivesTheBitsOfAnUninterruptedOne) {
  base::TemporaryDirectory directory;
  for (const int stop : {0, 1, 19, 20, 33, 50, 67, 99}) {
    SCOPED_TRACE(stop);
    const EvaluationCheckpoint checkpoint{directory.File(std::to_string(stop)), {}};
    InterruptedPredictor interrupted(stop);
    ASSERT_THAT(RunEvaluation(interrupted, MakePlan(), checkpoint),
                StatusIs(StatusCode::kUnavailable, "interrupted"));
    InterruptedPredictor whole(-1);
    SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult resumed,
                                RunEvaluation(whole, MakePlan(), checkpoint));
    ExpectSame(resumed, Uninterrupted());
  }
}

TEST(ResumedEvaluationTest, ComesToAnEndThroughManyInterruptions) {
  base::TemporaryDirectory directory;
  const EvaluationCheckpoint checkpoint{directory.File("checkpoint"), {}};
  for (int interruptions = 0; interruptions < 10; ++interruptions) {
    InterruptedPredictor predictor(60);  // a run of 50, wherever in a block of 25 it begins
    const auto result = RunEvaluation(predictor, MakePlan(), checkpoint);
    if (!result.ok()) continue;
    EXPECT_GT(interruptions, 0);
    ExpectSame(*result, Uninterrupted());
    return;
  }
  FAIL() << "no end";
}

TEST(ResumedEvaluationTest, ScoresNoFinishedRunAgain) {
  base::TemporaryDirectory directory;
  const EvaluationCheckpoint checkpoint{directory.File("checkpoint"), {}};
  InterruptedPredictor interrupted(70);
  EXPECT_FALSE(RunEvaluation(interrupted, MakeSmallPlan(), checkpoint).ok());
  InterruptedPredictor rest(-1);  // from position 50, where the second run of 50 begins
  SUBMIX_ASSERT_OK(RunEvaluation(rest, MakeSmallPlan(), checkpoint));
  EXPECT_EQ(rest.scored(), 50);
  InterruptedPredictor nothing(0);
  SUBMIX_ASSERT_OK(RunEvaluation(nothing, MakeSmallPlan(), checkpoint));
}

TEST(ResumedEvaluationTest, WhatFollowsTheLastScoredTokenIsNotComputed) {
  EvaluationPlan plan = MakeSmallPlan();
  std::erase_if(plan.settings, [](const auto& setting) { return setting.tokens != 20; });
  InterruptedPredictor predictor(-1);
  SUBMIX_ASSERT_OK(RunEvaluation(predictor, plan));
  EXPECT_EQ(predictor.scored(), 40);  // two runs: a block of 25 positions and 15 of the next
}

TEST(ResumedEvaluationTest, AnythingElseThanTheSameEvaluationIsRefused) {
  base::TemporaryDirectory directory;
  const EvaluationCheckpoint checkpoint{directory.File("checkpoint"), base::Sha256("models")};
  InterruptedPredictor predictor(-1);
  SUBMIX_ASSERT_OK(RunEvaluation(predictor, MakeSmallPlan(), checkpoint));
  const auto expect_refused = [&](const char* what, const EvaluationPlan& plan) {
    EXPECT_THAT(RunEvaluation(predictor, plan, checkpoint),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr(what)));
  };
  EvaluationPlan plan = MakeSmallPlan();
  plan.seed = 1;
  expect_refused("other options", plan);
  plan = MakeSmallPlan();
  plan.runs = 1;
  expect_refused("other options", plan);
  plan = MakeSmallPlan();
  plan.settings[3].epsilon = 2.5;
  expect_refused("other options", plan);
  plan = MakeSmallPlan();
  plan.settings[3].mechanism.screen.top_tokens = 2;
  expect_refused("other options", plan);
  plan = MakeSmallPlan();
  plan.settings[3].tokens = 49;
  expect_refused("other options", plan);
  plan = MakeSmallPlan();
  plan.settings.pop_back();
  expect_refused("other options", plan);

  HeldoutText text = MakeText();
  text.blocks[1][3] ^= 1;
  EXPECT_THAT(RunEvaluation(predictor, MakeSmallPlan(), checkpoint, text),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("other held-out text")));
  const EvaluationCheckpoint others{checkpoint.path, base::Sha256("other models")};
  EXPECT_THAT(RunEvaluation(predictor, MakeSmallPlan(), others),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("other models")));
}

TEST(ResumedEvaluationTest, ADamagedCheckpointIsRefused) {
  base::TemporaryDirectory directory;
  const EvaluationCheckpoint checkpoint{directory.File("checkpoint"), {}};
  InterruptedPredictor predictor(-1);
  SUBMIX_ASSERT_OK(RunEvaluation(predictor, MakeSmallPlan(), checkpoint));
  SUBMIX_ASSERT_OK_AND_ASSIGN(std::string content, base::ReadFile(checkpoint.path));
  content[content.size() / 2] ^= 1;
  SUBMIX_ASSERT_OK(base::WriteFile(checkpoint.path, content));
  EXPECT_THAT(RunEvaluation(predictor, MakeSmallPlan(), checkpoint),
              StatusIs(StatusCode::kDataLoss, HasSubstr("damaged")));
}

TEST(ResumedEvaluationTest, TheSeedDecidesTheDraws) {
  EvaluationPlan plan = MakePlan();
  plan.seed = 1;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult reseeded, RunUninterrupted(plan));
  for (std::size_t i = 0; i < plan.settings.size(); ++i) {
    SCOPED_TRACE(plan.settings[i].mechanism.name);
    const bool draws = i >= 2 * kWithoutDraws.size();
    EXPECT_EQ(Uninterrupted().settings[i].perplexity.runs != reseeded.settings[i].perplexity.runs,
              draws);
  }
}

TEST(ResumedEvaluationTest, EverySettingAndRunHasDrawsOfItsOwn) {
  const EvaluationPlan plan = MakePlan();
  constexpr std::size_t kSetting = 2 * kWithoutDraws.size();  // pmixed, 20 tokens
  EvaluationPlan alone = plan;
  alone.settings = {plan.settings[kSetting]};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult one, RunUninterrupted(alone));
  ASSERT_EQ(one.settings[0].perplexity.runs.size(), 2u);
  for (std::size_t run = 0; run < 2; ++run) {
    EXPECT_EQ(one.settings[0].perplexity.runs[run],
              Uninterrupted().settings[kSetting].perplexity.runs[run]);
  }

  // Where all runs score the same text, only the draws tell them apart.
  HeldoutText same = {HeldoutBlocks(4, MakeText().blocks.front()), std::vector<std::string>(4)};
  for (auto& block : same.blocks) block.resize(21);
  InterruptedPredictor predictor(-1);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationResult repeated,
                              RunEvaluation(predictor, alone, {}, same));
  const std::vector<double>& runs = repeated.settings[0].perplexity.runs;
  EXPECT_EQ(repeated.baselines[0].public_model.runs[0], repeated.baselines[0].public_model.runs[1]);
  EXPECT_NE(runs[0], runs[1]);
}

}  // namespace resumed_evaluation_test
}  // namespace submix::eval
