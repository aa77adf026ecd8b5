// What one key's answers can do to another's, counted in steps.
#include "submix/engine/batch_turns.h"

#include <memory>
#include <thread>

#include "submix/base/testing/status_matchers.h"
#include "submix/engine/scheduler.h"
#include "submix/engine/testing/watched_engine.h"

namespace submix::engine {
namespace batch_turns_test {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes kLongEnough(5);
constexpr int kLong = 61;  // tokens of an answer: with its prompt the whole context

class BatchTurnsTest : public testing::Test {
 protected:
  ~BatchTurnsTest() override { watched_.ledger.gate.Open(); }

  // Holds the engine within its first step.
  void Start(const SchedulerOptions& options = {}) {
    options_ = options;
    scheduler_ = Scheduler::Start(watched_.MakeCore(), options).value();
    watched_.ledger.gate.Close();
    EXPECT_TRUE(Submit("first", 1, 1));
    while (scheduler_->counters().live == 0) std::this_thread::sleep_for(milliseconds(1));
  }
  // Ends the step that the engine is in, and holds it within the next one.
  void Steps(int count) {
    for (; count > 0; --count) {
      watched_.ledger.gate.LetOnePass();
      for (Answer& answer : answers_) {
        while (answer.completion->Next(milliseconds(0))) ++answer.tokens;
      }
    }
  }
  // Every answer comes to its end, and no more have begun at a time than may.
  void Finish() {
    watched_.ledger.gate.Open();
    for (Answer& answer : answers_) {
      while (answer.completion->Next(kLongEnough)) ++answer.tokens;
      EXPECT_EQ(answer.completion->end(), AnswerEnd::kMaxTokens);
      EXPECT_EQ(answer.tokens, answer.max_tokens);
    }
    scheduler_->Drain(Clock::now() + kLongEnough);
    EXPECT_EQ(watched_.predictor.fake.open_sequences(), 0u);
    EXPECT_LE(static_cast<int>(watched_.predictor.most_open),
              options_.max_live + options_.max_paused);
    for (const auto& step : watched_.predictor.steps) {
      EXPECT_LE(step.running + step.prompts, options_.max_live);
    }
  }

  // Whether the queue took them.
  bool Submit(const std::string& key, int choices, int max_tokens) {
    Submission submission;
    submission.request.prompt = {1, 2, 3};
    submission.request.max_tokens = max_tokens;
    submission.key = key;
    auto call = scheduler_->Submit(std::vector(static_cast<std::size_t>(choices), submission));
    if (!call.ok()) return false;
    for (auto& completion : *call) answers_.push_back({key, max_tokens, 0, std::move(completion)});
    return true;
  }
  int Tokens(const std::string& key) const {
    int tokens = 0;
    for (const Answer& answer : answers_) tokens += answer.key == key ? answer.tokens : 0;
    return tokens;
  }
  // From now to the first token of a new answer; the step that the engine is in is the first.
  int StepsToFirstToken(const std::string& key) {
    const int before = Tokens(key);
    EXPECT_TRUE(Submit(key, 1, 1));
    int steps = 0;
    for (; Tokens(key) == before && steps < kLong; ++steps) Steps(1);
    return steps;
  }
  int TokensOfSteps(const std::string& key, int count) {
    const int before = Tokens(key);
    Steps(count);
    return Tokens(key) - before;
  }

  struct Answer {
    std::string key;
    int max_tokens = 0;
    int tokens = 0;
    std::unique_ptr<Completion> completion;
  };

  WatchedEngine watched_;
  SchedulerOptions options_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<Answer> answers_;
};

struct Load {
  int calls = 0;  // as many of them as the queue takes
  int choices = 0;
  int max_tokens = 0;
};

class UnderLoad : public BatchTurnsTest, public testing::WithParamInterface<Load> {};

// Alone it is in the step that follows the one on its way.
TEST_P(UnderLoad, OfOneKeyAnothersFirstTokenComesAsIfItWereAlone) {
  Start();
  for (int call = 0; call < GetParam().calls; ++call) {
    for (int waited = 0; !Submit("a", GetParam().choices, GetParam().max_tokens); ++waited) {
      if (waited == 10) break;
      Steps(1);
    }
  }
  EXPECT_EQ(scheduler_->counters().live, options_.max_live) << "the load fills a step";
  EXPECT_GT(scheduler_->counters().waiting, 0);
  for (int i = 0; i < 5; ++i) EXPECT_LE(StepsToFirstToken("b"), 2);
  Finish();
}

INSTANTIATE_TEST_SUITE_P(Loads, UnderLoad,
                         testing::Values(Load{2, 64, kLong}, Load{4, 32, kLong},
                                         Load{300, 1, kLong}, Load{300, 1, 40}));

TEST_F(BatchTurnsTest, OneKeyOfTwoHasHalfOfEveryStep) {
  Start();
  Submit("a", 64, kLong);
  Steps(5);
  EXPECT_EQ(TokensOfSteps("a", 5), 5 * 64) << "alone";
  Submit("b", 64, kLong);
  Steps(3);
  EXPECT_EQ(TokensOfSteps("b", 10), 10 * 32);
  EXPECT_EQ(TokensOfSteps("a", 10), 10 * 32) << "steps are full";
  int fewest = kLong;
  int most = 0;
  for (const Answer& answer : answers_) {
    if (answer.key != "a") continue;
    fewest = std::min(fewest, answer.tokens);
    most = std::max(most, answer.tokens);
  }
  EXPECT_LE(most - fewest, 5) << "a key's own take turns, too";
  Finish();
}

TEST_F(BatchTurnsTest, AfterTwoKeysHaveFilledAllThereIsAPlaceForOthers) {
  Start();
  Submit("a", 64, kLong);
  Steps(4);
  Submit("b", 64, kLong);
  Steps(4);
  for (int i = 0; i < 20; ++i) {
    EXPECT_LE(StepsToFirstToken("c" + std::to_string(i)), 2);
  }
  Finish();
}

TEST_F(BatchTurnsTest, ManyKeysFindAPlaceBesideOneThatHoldsAll) {
  Start();
  Submit("a", 64, kLong);
  Steps(5);
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(Submit("key " + std::to_string(i), 1, 30));
  Steps(6);
  for (int i = 0; i < 64; ++i) EXPECT_GT(Tokens("key " + std::to_string(i)), 0) << i;
  Finish();
}

TEST_F(BatchTurnsTest, ABatchOfOneIsSharedInTurns) {
  Start({.max_live = 1});
  Submit("a", 1, kLong);
  Steps(3);
  Submit("b", 1, kLong);
  Submit("c", 1, kLong);
  Steps(4);
  const int a = Tokens("a");
  const int b = Tokens("b");
  Steps(30);
  EXPECT_EQ(Tokens("a") - a, 10);
  EXPECT_EQ(Tokens("b") - b, 10);
  Finish();
}

TEST_F(BatchTurnsTest, AnswersThatBeginInEveryStepDoNotStopWhatRuns) {
  Start({.max_live = 1, .prompt_tokens = 16});
  Submit("a", 1, kLong);
  Steps(3);
  Submit("b", 60, 1);
  EXPECT_GE(TokensOfSteps("a", 20), 9);
  Finish();
}

TEST_F(BatchTurnsTest, WithoutPlacesToPauseInAKeyWaitsForAnAnswersEnd) {
  Start({.max_live = 2, .max_paused = 0});
  Submit("a", 3, 20);
  Steps(2);
  EXPECT_GT(StepsToFirstToken("b"), 10);
  Finish();
}

TEST(BatchTurnsRulesTest, BeyondAStepAKeyBeginsUpToItsShareOfIt) {
  BatchTurns turns(4, 8);
  for (int i = 0; i < 3; ++i) turns.Begin("a");
  turns.Begin("b");
  EXPECT_FALSE(turns.may_begin("a")) << "it has three of four places";
  EXPECT_TRUE(turns.may_begin("b")) << "it has one of the two that are its share";
  turns.Begin("b");
  EXPECT_FALSE(turns.may_begin("b"));
  EXPECT_TRUE(turns.may_begin("c"));
}

TEST(BatchTurnsRulesTest, HalfOfThePlacesToPauseInAreForKeysThatHaveNone) {
  BatchTurns turns(8, 8);
  for (int i = 0; i < 8; ++i) turns.Begin("a");
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(turns.may_begin("b"));
    turns.Begin("b");
  }
  EXPECT_TRUE(turns.may_begin("c"));
  turns.Begin("c");
  EXPECT_FALSE(turns.may_begin("c")) << "less than its share, but the other places are for others";
  EXPECT_TRUE(turns.may_begin("d"));
}

}  // namespace batch_turns_test
}  // namespace submix::engine
