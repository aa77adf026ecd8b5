// What a step takes in of long prompts beside running sequences, counted.
#include <thread>

#include "submix/base/testing/status_matchers.h"
#include "submix/engine/scheduler.h"
#include "submix/engine/testing/watched_engine.h"

namespace submix::engine {
namespace long_prompts_test {

using std::chrono::milliseconds;
using testing::ElementsAre;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes kLongEnough(5);
constexpr int kLong = 60;  // tokens, of a context of 64

Submission Ask(const std::string& key, base::TokenId first, int prompt, int max_tokens) {
  Submission submission;
  submission.request.prompt.assign(static_cast<std::size_t>(prompt), first);
  submission.request.max_tokens = max_tokens;
  submission.key = key;
  return submission;
}

std::size_t CountTokens(Completion& completion) {
  std::size_t tokens = 0;
  while (completion.Next(kLongEnough)) ++tokens;
  return tokens;
}

class LongPromptsTest : public testing::Test {
 protected:
  explicit LongPromptsTest(const WatchedEngineOptions& options = {}) : watched_(options) {}

  using Completions = std::vector<std::unique_ptr<Completion>>;

  void Start(const SchedulerOptions& options) {
    scheduler_ = Scheduler::Start(watched_.MakeCore(), options).value();
  }
  // Holds the engine within its first step, with a stream of so many tokens in it.
  void HoldEngineWithAStream(int tokens) {
    watched_.ledger.gate.Close();
    Submit(Ask("stream", 0, 1, tokens));
    while (scheduler_->counters().live == 0) std::this_thread::sleep_for(milliseconds(1));
  }
  void Submit(Submission submission) {
    auto completion = scheduler_->Submit(std::move(submission));
    SUBMIX_ASSERT_OK(completion.status());
    completions_.push_back(*std::move(completion));
  }
  // Lets the engine go on until all have ended.
  void Finish() {
    watched_.ledger.gate.Open();
    for (const auto& completion : completions_) {
      EXPECT_GT(CountTokens(*completion), 0u);
      EXPECT_EQ(completion->end(), AnswerEnd::kMaxTokens);
    }
    scheduler_->Drain(Clock::now() + kLongEnough);
    EXPECT_EQ(watched_.predictor.fake.open_sequences(), 0u);
  }

  int PromptTokens() const {
    int tokens = 0;
    for (const auto& step : watched_.predictor.steps) tokens += step.prompt_tokens;
    return tokens;
  }

  WatchedEngine watched_;
  std::unique_ptr<Scheduler> scheduler_;
  Completions completions_;
};

TEST_F(LongPromptsTest, EnterInBoundedPiecesAndTheStreamIsInEveryStep) {
  Start({.prompt_tokens = 7, .max_prompt_tokens = 50});
  constexpr int kStream = 60;
  HoldEngineWithAStream(kStream);
  for (base::TokenId first = 1; first <= 20; ++first) Submit(Ask("a", first, kLong, 1));
  Finish();
  const auto& steps = watched_.predictor.steps;
  int prompt_tokens = 0;
  for (std::size_t step = 1; step < steps.size(); ++step) {
    EXPECT_EQ(steps[step].running, step < kStream ? 1 : 0);
    EXPECT_LE(steps[step].prompt_tokens, step < kStream ? 7 : 50);
    prompt_tokens += steps[step].prompt_tokens;
    if (prompt_tokens == 20 * kLong) continue;
    EXPECT_EQ(steps[step].prompt_tokens, step < kStream ? 7 : 50);
  }
  EXPECT_EQ(prompt_tokens, 20 * kLong) << "each token once";
  EXPECT_EQ(watched_.ledger.releases, kStream + 20) << "only a whole prompt is charged";
  EXPECT_LE(watched_.predictor.most_open, 3u) << "caches only of what runs, ends and enters";
}

TEST_F(LongPromptsTest, MoreTokensEnterTheMoreSequencesRunUpToABound) {
  Start({.prompt_tokens = 2, .max_prompt_tokens = 11});
  HoldEngineWithAStream(60);
  for (base::TokenId first = 1; first <= 9; ++first) Submit(Ask("a", first, 1, 50));
  Submit(Ask("b", 10, kLong, 1));
  Finish();
  int most = 0;
  for (const auto& step : watched_.predictor.steps) {
    EXPECT_LE(step.prompt_tokens, step.running > 0 ? std::min(11, 2 * step.running) : 11);
    most = std::max(most, step.prompt_tokens);
  }
  EXPECT_EQ(most, 11);
}

TEST_F(LongPromptsTest, OfOneKeyDoNotDelayAnothersShortOne) {
  Start({.prompt_tokens = 16});
  HoldEngineWithAStream(60);
  for (base::TokenId first = 1; first <= 20; ++first) Submit(Ask("a", first, kLong, 1));
  Submit(Ask("b", 24, 3, 1));
  Submit(Ask("c", 25, 18, 1));
  Finish();
  const auto& order = watched_.predictor.first_to_predict;
  ASSERT_EQ(order.size(), 23u);
  EXPECT_THAT(std::span(order).first(4), ElementsAre(0, 24, 25, 1));
}

TEST_F(LongPromptsTest, AClientThatGoesAwayWhileItsPromptEntersLeavesNothing) {
  Start({.prompt_tokens = 1, .quantum = milliseconds(10)});
  HoldEngineWithAStream(60);
  Submit(Ask("a", 1, kLong, 1));
  watched_.ledger.gate.Open();
  while (scheduler_->counters().live < 2) std::this_thread::sleep_for(milliseconds(1));
  completions_.pop_back();
  Submit(Ask("a", 2, 1, 1));  // whose turn is the next one
  Finish();
  EXPECT_EQ(scheduler_->counters().cancelled, 1);
  EXPECT_THAT(watched_.predictor.first_to_predict, ElementsAre(0, 2));
}

class AlikePromptsTest : public LongPromptsTest {
 protected:
  AlikePromptsTest() : LongPromptsTest({.prefix_tokens_per_key = kLong}) {}
};

TEST_F(AlikePromptsTest, WhatAKeysEarlierPromptBroughtDoesNotEnterAgain) {
  Start({});
  for (const auto& [key, enters] : std::vector<std::pair<std::string, int>>{
           {"a", kLong + 1}, {"a", 1}, {"b", kLong + 1}, {"", kLong + 1}, {"", kLong + 1}}) {
    const int before = PromptTokens();
    auto completion = scheduler_->Submit(Ask(key, 7, kLong + 1, 2)).value();
    EXPECT_EQ(CountTokens(*completion), 2u);
    EXPECT_EQ(PromptTokens() - before, enters) << key;
  }
  EXPECT_EQ(scheduler_->counters().prompt_tokens, 5 * (kLong + 1));
  EXPECT_EQ(scheduler_->counters().prefix_tokens, kLong);
  EXPECT_EQ(watched_.predictor.fake.open_sequences(), 2u);
  scheduler_.reset();
  EXPECT_EQ(watched_.predictor.fake.open_sequences(), 0u);
}

}  // namespace long_prompts_test
}  // namespace submix::engine
