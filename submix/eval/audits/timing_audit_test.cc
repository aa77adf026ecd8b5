#include "submix/eval/audits/timing_audit.h"

#include <thread>

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/engine/testing/watched_engine.h"

namespace submix::eval {
namespace timing_audit_test {

using std::chrono::milliseconds;

constexpr int kParts = 2;
constexpr int kVocabulary = engine::LetterTokenizer::kVocabulary;

// Members agree with the public model after the first half of the letters and contradict it after
// the second half; what that costs in time is the test's choice.
class LeakyPredictor final : public ensemble::Predictor {
 public:
  explicit LeakyPredictor(milliseconds leak) : leak_(leak) {}

  int num_members() const override { return kParts; }
  int vocab_size() const override { return kVocabulary; }
  int context_length() const override { return 64; }
  ensemble::SequenceId Open() override { return calm_.Open(); }
  void Close(ensemble::SequenceId sequence) override { calm_.Close(sequence); }
  base::Status Step(std::span<const Append> appends, std::span<float> logits) override {
    SUBMIX_RETURN_IF_ERROR(calm_.Step(appends, logits));
    if (appends[0].tokens.back() < kVocabulary / 2) return base::OkStatus();
    for (std::size_t i = kVocabulary; i < logits.size(); i += 3) logits[i] += 4;
    std::this_thread::sleep_for(leak_);
    return base::OkStatus();
  }
  base::Status Score(std::span<const base::TokenId>, std::size_t, const PositionSink&) override {
    return base::UnimplementedError("not asked for");
  }

 private:
  const milliseconds leak_;
  ensemble::FakePredictor calm_{kParts, kVocabulary, 0};
};

TimingAuditPlan Plan(const base::TemporaryDirectory& directory) {
  TimingAuditPlan plan;
  plan.mechanism.num_parts = kParts;
  plan.mechanism.target_leakage = 0.01;
  plan.pairs = 40;
  for (base::TokenId letter = 0; letter < kVocabulary; ++letter) plan.prompts.push_back({letter});
  plan.work_directory = directory.path();
  return plan;
}

base::StatusOr<TimingAuditResult> Audit(LeakyPredictor& predictor, const TimingAuditPlan& plan) {
  const auto random = base::MakeSeededRandomSource(1);
  base::ProgressBar progress("", 0, "", base::ProgressStyle::kSilent);
  return AuditTiming(predictor, engine::LetterTokenizer(), plan, *random, progress);
}

// Sleeping takes at least as long as asked for, so a busy machine cannot make this fail.
TEST(TimingAuditTest, FindsAPlantedLeakWhereItIs) {
  const base::TemporaryDirectory directory;
  LeakyPredictor predictor(milliseconds(20));
  const auto result = Audit(predictor, Plan(directory));
  ASSERT_THAT(result, base::IsOk());
  EXPECT_GT(result->contexts.second_median - result->contexts.first_median, 0.005);
  EXPECT_LT(result->contexts.without_slowest.p_value, 1e-3);
  EXPECT_GT(result->contexts.without_slowest.t, 0);
  EXPECT_GT(result->contexts.all.detectable_difference, 0);
  EXPECT_GT(result->slowest_usual, 0.02);
  EXPECT_EQ(result->budgets.first, "fresh parts");
}

TEST(TimingAuditTest, PaddedTokensTakeWholeQuanta) {
  const base::TemporaryDirectory directory;
  LeakyPredictor predictor(milliseconds(0));
  TimingAuditPlan plan = Plan(directory);
  plan.quantum = milliseconds(25);
  const auto result = Audit(predictor, plan);
  ASSERT_THAT(result, base::IsOk());
  EXPECT_GE(result->contexts.first_median, 0.025);
  EXPECT_GE(result->budgets.second_median, 0.025);
}

TEST(TimingAuditTest, RefusesPlansThatSayNothing) {
  const base::TemporaryDirectory directory;
  LeakyPredictor predictor(milliseconds(0));
  TimingAuditPlan few_pairs = Plan(directory);
  few_pairs.pairs = 9;
  TimingAuditPlan few_prompts = Plan(directory);
  few_prompts.prompts.resize(7);
  TimingAuditPlan uneven = Plan(directory);
  uneven.prompts.back().push_back(0);
  for (const TimingAuditPlan& plan : {few_pairs, few_prompts, uneven}) {
    EXPECT_EQ(Audit(predictor, plan).status().code(), base::StatusCode::kInvalidArgument);
  }
}

}  // namespace timing_audit_test
}  // namespace submix::eval
