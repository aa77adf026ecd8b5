#include "submix/engine/synthesis.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "submix/base/testing/status_matchers.h"
#include "submix/engine/testing/watched_engine.h"
#include "submix/ledger/memory_ledger.h"

namespace submix::engine {
namespace synthesis_test {

using base::Status;
using base::StatusCode;
using base::StatusIs;
using testing::_;
using testing::Each;
using testing::ElementsAreArray;

class SynthesisTest : public testing::Test {
 protected:
  void Start(const WatchedEngineOptions& options = {}) {
    watched_ = std::make_unique<WatchedEngine>(options);
    core_ = watched_->MakeCore();
  }

  // Documents 0 … count - 1 whose lengths differ: number modulo 5, and one.
  static Request RequestOf(std::int64_t number) {
    Request request;
    request.prompt = {static_cast<base::TokenId>(number % 26)};
    request.max_tokens = static_cast<int>(number % 5) + 1;
    return request;
  }

  Status Write(int count, int at_a_time) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0);
    return Synthesize(
        *core_, numbers, at_a_time, RequestOf,
        {[this](const SynthesizedDocument& document) -> base::StatusOr<std::optional<Request>> {
           written_.push_back(document);
           if (!sink_status_.ok()) return sink_status_;
           if (written_.size() > asked_again_) return std::optional<Request>();
           return std::optional(RequestOf(document.number));
         },
         [this](std::int64_t tokens) { steps_.push_back(tokens); }});
  }

  std::unique_ptr<WatchedEngine> watched_;
  std::unique_ptr<EngineCore> core_;
  std::vector<SynthesizedDocument> written_;
  std::vector<std::int64_t> steps_;
  Status sink_status_;
  std::size_t asked_again_ = 0;  // how many texts have another behind them
};

TEST_F(SynthesisTest, ATextMayHaveAnotherBehindIt) {
  Start();
  asked_again_ = 6;
  SUBMIX_ASSERT_OK(Write(/*count=*/5, /*at_a_time=*/2));
  ASSERT_EQ(written_.size(), 11u);
  std::map<std::int64_t, int> texts;
  std::int64_t tokens = 0;
  for (const SynthesizedDocument& text : written_) {
    ++texts[text.number];
    tokens += std::ssize(text.tokens);
    EXPECT_EQ(std::ssize(text.tokens), text.number % 5 + 1);
  }
  EXPECT_EQ(texts.size(), 5u);
  EXPECT_EQ(watched_->ledger.releases, tokens);
}

TEST_F(SynthesisTest, EveryDocumentIsWrittenOnceAndEveryTokenIsCharged) {
  Start();
  SUBMIX_ASSERT_OK(Write(/*count=*/23, /*at_a_time=*/4));
  std::vector<std::int64_t> numbers;
  for (const SynthesizedDocument& document : written_) {
    numbers.push_back(document.number);
    EXPECT_EQ(std::ssize(document.tokens), document.number % 5 + 1);
    EXPECT_EQ(document.text.size(), document.tokens.size());
    EXPECT_EQ(document.end, AnswerEnd::kMaxTokens);
  }
  std::ranges::sort(numbers);
  std::vector<std::int64_t> all(23);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_THAT(numbers, ElementsAreArray(all));
  const auto tokens = std::accumulate(steps_.begin(), steps_.end(), std::int64_t{0});
  EXPECT_EQ(tokens, 4 * 15 + 1 + 2 + 3);
  EXPECT_EQ(watched_->ledger.releases, tokens);
  EXPECT_TRUE(core_->idle());
}

TEST_F(SynthesisTest, AsManyRunInAStepAsItIsTold) {
  Start();
  SUBMIX_ASSERT_OK(Write(/*count=*/40, /*at_a_time=*/7));
  EXPECT_EQ(watched_->predictor.most_open, 7u);
  // The seats of those that end are taken at once: only the last few steps are not full.
  const auto is_full = [](std::int64_t tokens) { return tokens == 7; };
  EXPECT_GE(std::ranges::count_if(steps_, is_full), std::ssize(steps_) - 5);
  SUBMIX_ASSERT_OK(Write(/*count=*/0, /*at_a_time=*/1));
}

TEST_F(SynthesisTest, AnErrorEndsItAndFreesTheEngine) {
  Start();
  sink_status_ = base::ResourceExhaustedError("disk full");
  EXPECT_THAT(Write(20, 4), StatusIs(StatusCode::kResourceExhausted, "disk full"));
  EXPECT_EQ(written_.size(), 1u);
  EXPECT_TRUE(core_->idle());
  EXPECT_EQ(watched_->predictor.fake.open_sequences(), 0u);

  sink_status_ = base::OkStatus();
  watched_->ledger.broken = true;
  EXPECT_THAT(Write(20, 4), StatusIs(StatusCode::kResourceExhausted, _));
  EXPECT_TRUE(core_->idle());
  EXPECT_EQ(written_.size(), 1u);
}

TEST_F(SynthesisTest, EndsWhereAnswersAreUsedUpAndThenRefused) {
  Start({.mechanism = "dclip", .budget = 0.1, .when_exhausted = WhenExhausted::kRefuse});
  EXPECT_THAT(Write(20, 4), StatusIs(StatusCode::kFailedPrecondition, _));
  EXPECT_TRUE(core_->idle());
}

// --- What a budget covers

class CoveredTokensTest : public testing::Test {
 protected:
  // Of two nats, with the parts' accounts as given.
  void Declare(const std::string& mechanism, double target_leakage) {
    deployment_.config.options.epsilon = 2;
    mechanism::MechanismOptions& options = deployment_.config.options.mechanism;
    options.name = mechanism;
    options.num_parts = 2;
    options.target_leakage = target_leakage;
    deployment_.mechanism = mechanism::MakeMechanism(options).value();
  }

  Deployment deployment_;
};

TEST_F(CoveredTokensTest, WhatCostsNothingHasNoEnd) {
  Declare("public", 0.01);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto covered, CoveredTokens(deployment_));
  EXPECT_EQ(covered, std::nullopt);
}

// Where parts run out one by one, the number says nothing of what they have left: it is not even
// read.
TEST_F(CoveredTokensTest, IsThatOfTheDeclaredBudgetWhereWhatIsLeftIsPrivate) {
  for (const int tokens : {1, 93, 1000, 5849}) {
    Declare("filtered-submix", 2.0 / tokens);
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto covered, CoveredTokens(deployment_));
    EXPECT_EQ(covered, tokens);
  }
  deployment_.config.earlier.most = accounting::FixedNats::RoundUp(1);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto covered, CoveredTokens(deployment_));
  EXPECT_EQ(covered, 5849 / 2);
}

}  // namespace synthesis_test
}  // namespace submix::engine
