#include "submix/engine/scheduler.h"

#include <thread>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/engine/answer_cache.h"
#include "submix/engine/testing/watched_engine.h"

namespace submix::engine {
namespace scheduler_test {

using base::Status;
using base::StatusCode;
using base::StatusIs;
using std::chrono::milliseconds;
using testing::_;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes kLongEnough(5);
constexpr int kParts = WatchedEngine::kParts;

Submission MakeSubmission(const std::string& key, base::TokenId first, int max_tokens) {
  Submission submission;
  submission.request.prompt = {first, 2, 3};
  submission.request.max_tokens = max_tokens;
  submission.key = key;
  return submission;
}

std::vector<base::TokenId> TakeAll(Completion& completion) {
  std::vector<base::TokenId> tokens;
  while (const auto event = completion.Next(kLongEnough)) tokens.push_back(event->token.value());
  return tokens;
}

// Waits until the engine's thread has made it so.
template <typename Condition>
void WaitFor(const Condition& condition) {
  const auto end = Clock::now() + kLongEnough;
  while (!condition()) {
    ASSERT_LT(Clock::now(), end);
    std::this_thread::sleep_for(milliseconds(1));
  }
}

class SchedulerTest : public testing::Test {
 protected:
  void Start(const SchedulerOptions& options = {}, const WatchedEngineOptions& engine = {},
             KeyUsage* usage = nullptr, AnswerCache* cache = nullptr) {
    scheduler_.reset();
    watched_ = std::make_unique<WatchedEngine>(engine);
    scheduler_ = Scheduler::Start(watched_->MakeCore(), options, usage, cache).value();
  }

  std::unique_ptr<Completion> Submit(Submission submission) {
    auto completion = scheduler_->Submit(std::move(submission));
    EXPECT_TRUE(completion.ok()) << completion.status();
    return completion.ok() ? std::move(completion).value() : nullptr;
  }
  std::unique_ptr<Completion> Submit(const std::string& key, base::TokenId first, int max_tokens) {
    return Submit(MakeSubmission(key, first, max_tokens));
  }
  StatusCode Refusal(Submission submission) {
    return scheduler_->Submit(std::move(submission)).status().code();
  }

  // Holds the engine within its first step, with one request of key "first" live.
  std::unique_ptr<Completion> HoldEngine(int max_tokens = 1) {
    watched_->ledger.gate.Close();
    auto completion = Submit("first", 0, max_tokens);
    WaitFor([&] { return scheduler_->counters().live == 1; });
    return completion;
  }
  void ReleaseEngine() { watched_->ledger.gate.Open(); }
  void Stop() { scheduler_->Drain(Clock::now() + kLongEnough); }

  std::unique_ptr<WatchedEngine> watched_;
  std::unique_ptr<Scheduler> scheduler_;
};

TEST_F(SchedulerTest, TokensArriveAndTheEndSaysWhy) {
  Start();
  const auto completion = Submit("", 1, 20);
  int tokens = 0;
  AnswerEnd end = AnswerEnd::kNotYet;
  while (const auto event = completion->Next(kLongEnough)) {
    ++tokens;
    end = event->end;
    EXPECT_GE(watched_->ledger.releases, tokens);
  }
  EXPECT_EQ(tokens, 20);
  EXPECT_EQ(end, AnswerEnd::kMaxTokens);
  EXPECT_EQ(completion->end(), AnswerEnd::kMaxTokens);
  SUBMIX_EXPECT_OK(completion->status());
  const Counters& counters = scheduler_->counters();
  EXPECT_EQ(counters.cache_hits, 0);
  EXPECT_EQ(counters.requests, 1);
  EXPECT_EQ(counters.finished, 1);
  EXPECT_EQ(counters.tokens, 20);
  EXPECT_EQ(counters.prompt_tokens, 3);
  std::int64_t steps = 0;
  for (std::size_t bucket = 0; bucket <= DurationHistogram::kBounds.size(); ++bucket) {
    steps += counters.steps.count(bucket);
  }
  EXPECT_EQ(steps, 20);
}

TEST_F(SchedulerTest, NextGivesUpAfterItsTimeout) {
  Start();
  const auto completion = HoldEngine();
  EXPECT_FALSE(completion->Next(milliseconds(0)).has_value());
  EXPECT_FALSE(completion->Next(milliseconds(5)).has_value());
  EXPECT_EQ(completion->end(), AnswerEnd::kNotYet);
  ReleaseEngine();
  EXPECT_TRUE(completion->Next(std::chrono::nanoseconds::max()).has_value());
}

TEST_F(SchedulerTest, SequencesJoinBetweenTokensAndShareSteps) {
  Start();
  const auto first = HoldEngine(30);
  const auto second = Submit("b", 1, 20);
  ReleaseEngine();
  EXPECT_EQ(TakeAll(*first).size(), 30u);
  EXPECT_EQ(TakeAll(*second).size(), 20u);
  EXPECT_EQ(watched_->ledger.releases, 50);
  EXPECT_EQ(watched_->ledger.transactions, 30) << "one a step";
}

TEST_F(SchedulerTest, KeysTakeTurnsOldestFirstWithinOne) {
  Start({.max_live = 1});
  std::vector<std::unique_ptr<Completion>> completions;
  completions.push_back(HoldEngine());
  for (const base::TokenId first : {1, 2, 3}) completions.push_back(Submit("a", first, 1));
  for (const base::TokenId first : {11, 12}) completions.push_back(Submit("b", first, 1));
  completions.push_back(Submit("c", 21, 1));
  EXPECT_EQ(scheduler_->counters().waiting, 6);
  ReleaseEngine();
  for (const auto& completion : completions) EXPECT_EQ(TakeAll(*completion).size(), 1u);
  Stop();
  EXPECT_THAT(watched_->predictor.first_tokens, ElementsAre(0, 1, 11, 21, 2, 12, 3));
}

TEST_F(SchedulerTest, TheQueueIsBoundedAndNoKeyFillsItAlone) {
  Start({.max_live = 1, .max_waiting = 3, .max_waiting_per_key = 2});
  const auto live = HoldEngine();
  std::vector<std::unique_ptr<Completion>> waiting;
  waiting.push_back(Submit("a", 1, 1));
  waiting.push_back(Submit("a", 2, 1));
  EXPECT_EQ(Refusal(MakeSubmission("a", 3, 1)), StatusCode::kResourceExhausted);
  waiting.push_back(Submit("b", 4, 1));
  EXPECT_EQ(Refusal(MakeSubmission("c", 5, 1)), StatusCode::kResourceExhausted);
  EXPECT_EQ(scheduler_->counters().refused_full, 2);
  ReleaseEngine();
  for (const auto& completion : waiting) EXPECT_EQ(TakeAll(*completion).size(), 1u);
  EXPECT_EQ(TakeAll(*Submit("c", 5, 1)).size(), 1u) << "there is room again";
}

TEST_F(SchedulerTest, AClientThatGoesAwayFreesItsRowsAndPaysWhatItGot) {
  Start({.max_live = 1});
  auto leaving = HoldEngine(60);
  auto waiting = Submit("a", 1, 60);
  const auto staying = Submit("b", 2, 1);
  leaving.reset();
  waiting.reset();
  ReleaseEngine();
  EXPECT_EQ(TakeAll(*staying).size(), 1u) << "its turn came";
  Stop();
  EXPECT_EQ(watched_->predictor.fake.open_sequences(), 0u);
  EXPECT_THAT(watched_->predictor.first_tokens, ElementsAre(0, 2));
  EXPECT_EQ(watched_->ledger.releases, 2) << "what was on its way is paid";
  EXPECT_EQ(scheduler_->counters().tokens, 2);
  EXPECT_EQ(scheduler_->counters().cancelled, 2);
}

TEST_F(SchedulerTest, CancelDropsWhatWasNotTaken) {
  Start();
  const auto completion = Submit("a", 1, 5);
  WaitFor([&] { return scheduler_->counters().finished == 1; });
  const auto second = HoldEngine();
  second->Cancel();
  EXPECT_EQ(second->end(), AnswerEnd::kCancelled);
  EXPECT_FALSE(second->Next(milliseconds(0)).has_value());
  ReleaseEngine();
  EXPECT_EQ(completion->end(), AnswerEnd::kNotYet) << "its tokens wait";
  completion->Cancel();
  EXPECT_EQ(completion->end(), AnswerEnd::kMaxTokens) << "it had ended";
  EXPECT_FALSE(completion->Next(milliseconds(0)).has_value());
}

TEST_F(SchedulerTest, DeadlinesEndLiveAndWaitingRequests) {
  Start({.max_live = 1});
  watched_->ledger.gate.Close();
  Submission live = MakeSubmission("a", 1, 50);
  Submission waiting = MakeSubmission("a", 2, 50);
  live.deadline = waiting.deadline = Clock::now() + milliseconds(1000);
  const auto first = Submit(live);
  const auto second = Submit(waiting);
  WaitFor([&] { return scheduler_->counters().live == 1; });
  for (Completion* late : {first.get(), second.get()}) {
    EXPECT_EQ(TakeAll(*late).size(), 0u) << "while the ledger does not answer";
    EXPECT_EQ(late->end(), AnswerEnd::kDeadline);
    EXPECT_THAT(late->status(), StatusIs(StatusCode::kUnavailable, HasSubstr("time")));
  }
  EXPECT_GE(Clock::now(), live.deadline);
  ReleaseEngine();
  Stop();
  EXPECT_TRUE(scheduler_->has_stopped());
  EXPECT_EQ(scheduler_->counters().deadlines, 2);
  EXPECT_EQ(scheduler_->counters().cancelled, 0);
  EXPECT_EQ(watched_->predictor.fake.open_sequences(), 0u);
}

TEST_F(SchedulerTest, DrainFinishesWhatItHas) {
  Start({.max_live = 1});
  const auto live = HoldEngine(20);
  const auto waiting = Submit("b", 1, 20);
  std::thread stopper([&] { Stop(); });
  WaitFor([&] { return Refusal(MakeSubmission("c", 2, 1)) == StatusCode::kUnavailable; });
  ReleaseEngine();
  stopper.join();
  EXPECT_EQ(TakeAll(*live).size(), 20u);
  EXPECT_EQ(TakeAll(*waiting).size(), 20u);
  EXPECT_EQ(waiting->end(), AnswerEnd::kMaxTokens);
  EXPECT_EQ(Refusal(MakeSubmission("c", 2, 1)), StatusCode::kUnavailable);
}

TEST_F(SchedulerTest, DrainEndsTheRestAtItsDeadline) {
  Start({.max_live = 1});
  const auto live = HoldEngine(50);
  const auto waiting = Submit("b", 1, 50);
  std::thread stopper([&] { scheduler_->Drain(Clock::time_point::min()); });
  WaitFor([&] { return Refusal(MakeSubmission("c", 2, 1)) == StatusCode::kUnavailable; });
  ReleaseEngine();
  stopper.join();
  EXPECT_EQ(TakeAll(*live).size(), 1u);
  EXPECT_EQ(live->end(), AnswerEnd::kStopped);
  EXPECT_EQ(TakeAll(*waiting).size(), 0u);
  EXPECT_EQ(waiting->end(), AnswerEnd::kStopped);
  EXPECT_EQ(scheduler_->counters().stopped, 2);
  EXPECT_EQ(scheduler_->counters().live, 0);
  EXPECT_EQ(watched_->predictor.fake.open_sequences(), 0u);
}

TEST_F(SchedulerTest, DrainReturnsAlthoughAStepDoesNotEnd) {
  Start({.max_live = 1});
  const auto live = HoldEngine(50);
  const auto waiting = Submit("b", 1, 50);
  scheduler_->Drain(Clock::time_point::min());
  for (Completion* stopped : {live.get(), waiting.get()}) {
    EXPECT_EQ(TakeAll(*stopped).size(), 0u);
    EXPECT_EQ(stopped->end(), AnswerEnd::kStopped);
  }
  EXPECT_FALSE(scheduler_->has_stopped());
  ReleaseEngine();
  WaitFor([&] { return scheduler_->has_stopped(); });
  EXPECT_EQ(watched_->predictor.fake.open_sequences(), 0u);
}

TEST_F(SchedulerTest, HealthNoticesAStepThatDoesNotEnd) {
  Start({.longest_step = milliseconds(100)});
  SUBMIX_EXPECT_OK(scheduler_->health());
  const auto live = HoldEngine();
  WaitFor([&] { return !scheduler_->health().ok(); });
  EXPECT_THAT(scheduler_->health(), StatusIs(StatusCode::kUnavailable, HasSubstr("timeouts.step")));
  EXPECT_EQ(Refusal(MakeSubmission("b", 1, 1)), StatusCode::kUnavailable);
  WaitFor([&] { return scheduler_->counters().healthy == 0; });
  ReleaseEngine();
  EXPECT_EQ(TakeAll(*live).size(), 1u);
  WaitFor([&] { return scheduler_->health().ok(); });
  WaitFor([&] { return scheduler_->counters().healthy == 1; });
  EXPECT_EQ(TakeAll(*Submit("b", 1, 1)).size(), 1u);
}

TEST_F(SchedulerTest, AFailedStepEndsItsRequestsAndItMendsItself) {
  Start();
  watched_->ledger.broken = true;
  const auto first = HoldEngine(20);
  const auto second = Submit("b", 1, 20);
  ReleaseEngine();
  for (Completion* failed : {first.get(), second.get()}) {
    EXPECT_EQ(TakeAll(*failed).size(), 0u) << "no token without a durable charge";
    EXPECT_EQ(failed->end(), AnswerEnd::kFailed);
    EXPECT_THAT(failed->status(), StatusIs(StatusCode::kUnavailable, Not(HasSubstr("secret"))));
  }
  EXPECT_THAT(scheduler_->health(), StatusIs(StatusCode::kResourceExhausted, _));
  EXPECT_THAT(scheduler_->Submit(MakeSubmission("c", 2, 20)).status(),
              StatusIs(StatusCode::kUnavailable, HasSubstr("could not be written down")));
  watched_->ledger.broken = false;
  WaitFor([&] { return scheduler_->health().ok(); });  // without any request
  EXPECT_EQ(TakeAll(*Submit("c", 2, 20)).size(), 20u);
  EXPECT_EQ(scheduler_->counters().failed, 2);
  Stop();
  EXPECT_EQ(watched_->predictor.fake.open_sequences(), 0u);
}

TEST_F(SchedulerTest, APredictorThatGoesAwayIsNoticedWhileNobodyAsksAndWhenItIsBack) {
  Start();
  watched_->predictor.away = true;
  WaitFor([&] { return !scheduler_->health().ok(); });
  EXPECT_EQ(scheduler_->counters().healthy, 0);
  EXPECT_EQ(Refusal(MakeSubmission("a", 0, 20)), StatusCode::kUnavailable);
  watched_->predictor.away = false;
  WaitFor([&] { return scheduler_->health().ok(); });
  EXPECT_EQ(TakeAll(*Submit("a", 0, 20)).size(), 20u);
}

TEST_F(SchedulerTest, WhatAPredictorLeavesUnfinishedCostsNothing) {
  Start();
  const auto first = HoldEngine(20);
  watched_->predictor.away = true;
  const auto second = Submit("b", 1, 20);
  ReleaseEngine();
  EXPECT_EQ(TakeAll(*first).size(), 1u) << "of the step that it had computed";
  EXPECT_EQ(TakeAll(*second).size(), 0u);
  for (const Completion* failed : {first.get(), second.get()}) {
    EXPECT_EQ(failed->end(), AnswerEnd::kFailed);
    EXPECT_THAT(failed->status(), StatusIs(StatusCode::kUnavailable, Not(HasSubstr("secret"))));
  }
  EXPECT_EQ(watched_->ledger.releases, 1);
  watched_->predictor.away = false;
  WaitFor([&] { return scheduler_->health().ok(); });
  EXPECT_EQ(TakeAll(*Submit("c", 2, 20)).size(), 20u);
}

// A usage whose disk is full while it is broken.
class BrokenUsage final : public KeyUsage {
 public:
  Status Reserve(const std::string&, const KeyQuotas&, KeyUse) override { return Write(); }
  void GiveBack(const std::string&, KeyUse) override {}
  Status Write() override {
    return broken ? base::UnavailableError("/secret/path: disk full") : base::OkStatus();
  }

  std::atomic<bool> broken = true;
};

TEST_F(SchedulerTest, AQuotaThatCannotBeWrittenRefusesAndIsTriedAgain) {
  BrokenUsage usage;
  Start({}, {}, &usage);
  watched_->ledger.gate.Close();
  const auto unkeyed = Submit("", 0, 20);
  WaitFor([&] { return scheduler_->counters().live == 1; });
  EXPECT_THAT(scheduler_->Submit(MakeSubmission("a", 1, 20)).status(),
              StatusIs(StatusCode::kUnavailable, Not(HasSubstr("secret"))));
  EXPECT_FALSE(scheduler_->health().ok());
  ReleaseEngine();
  EXPECT_EQ(TakeAll(*unkeyed).size(), 20u) << "what runs goes on";
  usage.broken = false;
  WaitFor([&] { return scheduler_->health().ok(); });
  EXPECT_EQ(TakeAll(*Submit("a", 1, 20)).size(), 20u);
  scheduler_.reset();
}

TEST_F(SchedulerTest, WrongRequestsAreRefusedAtOnce) {
  Start();
  EXPECT_EQ(Refusal(MakeSubmission("a", LetterTokenizer::kVocabulary, 1)),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Refusal(MakeSubmission("a", 1, 100)), StatusCode::kInvalidArgument);
  EXPECT_EQ(scheduler_->counters().refused_invalid, 2);
  for (const SchedulerOptions& wrong :
       {SchedulerOptions{.max_live = 0}, SchedulerOptions{.prompt_tokens = 0},
        SchedulerOptions{.max_prompt_tokens = 0},
        SchedulerOptions{.longest_step = milliseconds(0)}}) {
    EXPECT_THAT(Scheduler::Start(watched_->MakeCore(), wrong).status(),
                StatusIs(StatusCode::kInvalidArgument, _));
  }
}

TEST_F(SchedulerTest, ACallIsAdmittedWholeOrNotAtAll) {
  base::TemporaryDirectory directory;
  const auto usage = KeyUsage::Open(directory.path()).value();
  Start({.max_live = 1, .max_waiting = 8, .max_waiting_per_key = 5}, {}, usage.get());
  const auto live = HoldEngine();
  const auto call = [&](int choices, int max_tokens) {
    Submission submission = MakeSubmission("a", 1, max_tokens);
    submission.quotas = {.tokens = 100, .requests = 7};
    return scheduler_->Submit(
        std::vector<Submission>(static_cast<std::size_t>(choices), submission));
  };
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto first, call(3, 1));
  EXPECT_EQ(first.size(), 3u);
  EXPECT_THAT(call(3, 1).status(), StatusIs(StatusCode::kResourceExhausted, _)) << "5 wait at most";
  EXPECT_THAT(call(6, 1).status(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("at most 5")));
  EXPECT_THAT(call(2, 49).status(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("tokens")));
  EXPECT_EQ(scheduler_->counters().waiting, 3);
  EXPECT_EQ(scheduler_->counters().requests, 1 + 3 + 3 + 6 + 2) << "choices";
  ReleaseEngine();
  for (const auto& completion : first) EXPECT_EQ(TakeAll(*completion).size(), 1u);
  EXPECT_THAT(call(5, 1).status(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("requests")));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto last, call(4, 20));
  for (const auto& completion : last) EXPECT_EQ(TakeAll(*completion).size(), 20u);
  Stop();
  EXPECT_EQ(watched_->ledger.releases, 1 + 3 + 80) << "what was refused is not charged";
  scheduler_.reset();
  SUBMIX_EXPECT_OK(usage->Write());
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto uses, KeyUsage::Read(directory.path()));
  EXPECT_EQ(uses.at("a"), (KeyUse{83, 7}));
}

// A fixed number of tokens, of equal constant charges: 25 of them.
WatchedEngineOptions FixedAnswers(WhenExhausted rule) {
  return {.mechanism = "dclip", .budget = 0.25, .target_leakage = 0.01, .when_exhausted = rule};
}

TEST_F(SchedulerTest, UsedUpAnswersAreRefusedForEver) {
  Start({}, FixedAnswers(WhenExhausted::kRefuse));
  // Late ones may come when the answers are already used up.
  std::vector<std::unique_ptr<Completion>> completions;
  for (base::TokenId first = 0; first < 8; ++first) {
    auto completion = scheduler_->Submit(MakeSubmission("a", first, 10));
    if (completion.ok()) {
      completions.push_back(*std::move(completion));
    } else {
      EXPECT_THAT(completion.status(), StatusIs(StatusCode::kFailedPrecondition, _));
    }
  }
  std::size_t tokens = 0;
  for (const auto& completion : completions) {
    tokens += TakeAll(*completion).size();
    if (completion->end() == AnswerEnd::kMaxTokens) continue;
    EXPECT_EQ(completion->end(), AnswerEnd::kExhausted);
    EXPECT_THAT(completion->status(), StatusIs(StatusCode::kFailedPrecondition, _));
  }
  EXPECT_EQ(tokens, 25u);
  EXPECT_EQ(Refusal(MakeSubmission("b", 1, 1)), StatusCode::kFailedPrecondition);
  EXPECT_GT(scheduler_->counters().refused_exhausted, 1);
  EXPECT_EQ(scheduler_->counters().refused_quota, 0);
}

TEST_F(SchedulerTest, UsedUpAnswersGoOnFromThePublicModel) {
  Start({}, FixedAnswers(WhenExhausted::kPublic));
  for (base::TokenId first = 0; first < 8; ++first) {
    EXPECT_EQ(TakeAll(*Submit("a", first, 10)).size(), 10u);
  }
  EXPECT_EQ(watched_->ledger.releases, 80) << "each has its receipt";
  for (int part = 0; part < kParts; ++part) EXPECT_LE(watched_->ledger.SpentByPart(part), 0.25);
}

TEST_F(SchedulerTest, StepsTakeWholeQuanta) {
  using std::chrono::nanoseconds;
  EXPECT_EQ(PaddedDuration(nanoseconds(7), nanoseconds(0)), nanoseconds(7));
  EXPECT_EQ(PaddedDuration(nanoseconds(1), nanoseconds(10)), nanoseconds(10));
  EXPECT_EQ(PaddedDuration(nanoseconds(10), nanoseconds(10)), nanoseconds(10));
  EXPECT_EQ(PaddedDuration(nanoseconds(11), nanoseconds(10)), nanoseconds(20));
  Start({.quantum = milliseconds(20)});
  const auto start = Clock::now();
  EXPECT_EQ(TakeAll(*Submit("a", 1, 5)).size(), 5u);
  EXPECT_GE(Clock::now() - start, milliseconds(100));
}

TEST_F(SchedulerTest, QuotasCountWhatWasReleased) {
  base::TemporaryDirectory directory;
  const auto usage = KeyUsage::Open(directory.path()).value();
  Start({.max_live = 1}, {}, usage.get());
  Submission twenty = MakeSubmission("a", 1, 20);
  twenty.quotas.tokens = 30;
  EXPECT_EQ(TakeAll(*Submit(twenty)).size(), 20u);
  EXPECT_THAT(scheduler_->Submit(twenty).status(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("30 tokens")));
  EXPECT_EQ(scheduler_->counters().refused_quota, 1);
  Submission ten = twenty;
  ten.request.max_tokens = 10;
  {
    // Dropped before its turn: its tokens come back.
    const auto live = HoldEngine();
    Submit(ten)->Cancel();
    ReleaseEngine();
    WaitFor([&] { return scheduler_->counters().cancelled == 1; });
  }
  EXPECT_EQ(TakeAll(*Submit(ten)).size(), 10u);
  ten.request.max_tokens = 1;
  EXPECT_EQ(Refusal(ten), StatusCode::kFailedPrecondition);
  Submission other = MakeSubmission("b", 1, 20);
  EXPECT_EQ(TakeAll(*Submit(other)).size(), 20u) << "another key's quota is its own";
}

TEST_F(SchedulerTest, CachedAnswersAreTheSameTokensAndCostNothing) {
  base::TemporaryDirectory directory;
  const auto usage = KeyUsage::Open(directory.path()).value();
  AnswerCache cache(1 << 20);
  Start({}, {}, usage.get(), &cache);
  const Submission submission = MakeSubmission("a", 1, 20);
  const auto tokens = TakeAll(*Submit(submission));
  const auto again = Submit(submission);
  EXPECT_EQ(scheduler_->counters().cache_hits, 1);
  EXPECT_EQ(TakeAll(*again), tokens);
  EXPECT_EQ(again->end(), AnswerEnd::kMaxTokens);
  EXPECT_EQ(watched_->ledger.releases, 20);

  Submission bypass = submission;
  bypass.may_use_cache = false;
  Submission shorter = submission;
  shorter.request.max_tokens = 19;
  for (const Submission& fresh : {bypass, shorter, MakeSubmission("b", 1, 20)}) {
    TakeAll(*Submit(fresh));
    EXPECT_EQ(scheduler_->counters().cache_hits, 1);
  }
  EXPECT_EQ(TakeAll(*Submit(submission)), tokens) << "the bypass did not replace it";
  Stop();
  EXPECT_EQ(watched_->ledger.releases, 79);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto uses, KeyUsage::Read(directory.path()));
  EXPECT_EQ(uses.at("a").requests, 5);
}

TEST_F(SchedulerTest, WhatDidNotFinishIsNotCached) {
  AnswerCache cache(1 << 20);
  Start({}, {}, nullptr, &cache);
  HoldEngine(60).reset();
  ReleaseEngine();
  WaitFor([&] { return scheduler_->counters().cancelled == 1; });
  const auto again = Submit("first", 0, 60);
  EXPECT_EQ(scheduler_->counters().cache_hits, 0);
}

}  // namespace scheduler_test
}  // namespace submix::engine
