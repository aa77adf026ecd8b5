#include "submix/engine/engine_core.h"

#include <limits>
#include <vector>

#include "submix/base/testing/status_matchers.h"
#include "submix/engine/testing/watched_engine.h"

namespace submix::engine {
namespace engine_core_test {

using base::StatusCode;
using base::StatusIs;
using testing::_;
using testing::HasSubstr;

constexpr int kParts = WatchedEngine::kParts;

class EngineCoreTest : public testing::Test {
 protected:
  void Start(double budget) { Start(WatchedEngineOptions{.budget = budget}); }
  void Start(const WatchedEngineOptions& options) {
    watched_ = std::make_unique<WatchedEngine>(options);
    ledger_ = &watched_->ledger;
    predictor_ = &watched_->predictor.fake;
    engine_ = watched_->MakeCore();
  }

  Request MakeRequest(int max_tokens) {
    Request request;
    request.prompt = {1, 2, 3};
    request.max_tokens = max_tokens;
    return request;
  }

  std::unique_ptr<WatchedEngine> watched_;
  WatchedLedger* ledger_ = nullptr;
  ensemble::FakePredictor* predictor_ = nullptr;
  std::unique_ptr<EngineCore> engine_;
};

TEST_F(EngineCoreTest, EveryTokenIsChargedBeforeItIsReleased) {
  Start(/*budget=*/2);
  std::string text;
  int tokens = 0;
  SUBMIX_ASSERT_OK(engine_->Generate(MakeRequest(20), [&](const TokenEvent& event) {
    ++tokens;
    EXPECT_EQ(ledger_->releases, tokens);
    text += event.text;
  }));
  EXPECT_EQ(tokens, 20);
  EXPECT_EQ(text.size(), 20u);
  EXPECT_GT(ledger_->SpentByPart(0), 0);
  EXPECT_EQ(predictor_->open_sequences(), 0u);
}

TEST_F(EngineCoreTest, AStepOfManySequencesIsOneTransaction) {
  Start(/*budget=*/2);
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(engine_->Admit(MakeRequest(3)).ok());
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto events, engine_->Step());
  EXPECT_EQ(events.size(), 7u);
  EXPECT_EQ(ledger_->transactions, 1);
  EXPECT_EQ(ledger_->releases, 7);
}

// Predictions and proposals are divided among threads; what is drawn does not depend on how. One of
// the sequences has no prediction.
TEST_F(EngineCoreTest, ManyThreadsReleaseWhatOneReleases) {
  std::vector<std::vector<std::optional<base::TokenId>>> tokens;
  std::vector<double> spent;
  for (const bool has_threads : {false, true}) {
    Start(/*budget=*/2);
    watched_->predictor.has_threads = has_threads;
    predictor_->BreakPublicModelAfter(9);
    for (int i = 0; i < 7; ++i) {
      Request request = MakeRequest(3);
      request.prompt = {i == 4 ? 9 : i};
      ASSERT_TRUE(engine_->Admit(request).ok());
    }
    tokens.emplace_back();
    for (int step = 0; step < 3; ++step) {
      SUBMIX_ASSERT_OK_AND_ASSIGN(const auto events, engine_->Step());
      for (const TokenEvent& event : events) tokens.back().push_back(event.token);
    }
    spent.push_back(ledger_->SpentByPart(0));
  }
  EXPECT_EQ(tokens[0].size(), 3u * 6 + 1);
  EXPECT_EQ(tokens[0], tokens[1]);
  EXPECT_EQ(spent[0], spent[1]);
}

// With a mechanism that screens, a token is two releases: each has a charge and a receipt of its
// own.
TEST_F(EngineCoreTest, ScreensAndTheirTokensAreChargedEach) {
  Start({.mechanism = "screened"});
  ASSERT_TRUE(engine_->Admit(MakeRequest(3)).ok());
  ASSERT_TRUE(engine_->Admit(MakeRequest(3)).ok());
  for (int step = 1; step <= 3; ++step) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto events, engine_->Step());
    EXPECT_EQ(events.size(), 2u);
    EXPECT_EQ(ledger_->transactions, 2 * step);
    EXPECT_EQ(ledger_->releases, 4 * step);
  }
  EXPECT_TRUE(engine_->idle());
}

TEST_F(EngineCoreTest, APromptInPiecesIsChargedOnceAndGivesTheSameTokens) {
  const auto answer = [this](const std::vector<int>& pieces) {
    Start(/*budget=*/2);
    SUBMIX_EXPECT_OK(engine_->Admit(MakeRequest(5)).status());
    std::vector<base::TokenId> tokens;
    for (std::size_t step = 0; !engine_->idle(); ++step) {
      const StepShare share{1, step < pieces.size() ? pieces[step] : 1};
      const auto events = engine_->Step({&share, 1});
      SUBMIX_EXPECT_OK(events.status());
      for (const TokenEvent& event : *events) tokens.push_back(event.token.value());
      EXPECT_EQ(tokens.size(), step + 1 < pieces.size() ? 0u : step + 2 - pieces.size());
      EXPECT_EQ(ledger_->transactions, std::ssize(tokens)) << "a piece costs nothing";
    }
    return tokens;
  };
  const auto whole = answer({3});
  EXPECT_EQ(whole.size(), 5u);
  EXPECT_EQ(answer({1, 1, 1}), whole);
  EXPECT_EQ(answer({2, 1}), whole);
}

TEST_F(EngineCoreTest, WithoutAShareARequestWaitsOrPauses) {
  Start(/*budget=*/2);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(engine_->Admit(MakeRequest(3)).ok());
  const auto requests = [this](const std::vector<StepShare>& shares) {
    std::vector<std::int64_t> ids;
    const auto events = engine_->Step(shares);
    SUBMIX_EXPECT_OK(events.status());
    for (const TokenEvent& event : *events) ids.push_back(event.request_id);
    return ids;
  };
  EXPECT_THAT(requests({{1, 3}}), testing::ElementsAre(1));
  EXPECT_THAT(requests({{2, 2}}), testing::IsEmpty());
  EXPECT_EQ(ledger_->releases, 1) << "a pause costs nothing";
  EXPECT_THAT(requests({{1, 1}, {2, 1}}), testing::ElementsAre(1, 2));
  EXPECT_THAT(requests({{2, 1}}), testing::ElementsAre(2));
  EXPECT_THAT(requests({{1, 1}}), testing::ElementsAre(1)) << "its last one";
  EXPECT_THAT(requests({{2, 1}}), testing::ElementsAre(2));
  EXPECT_TRUE(engine_->idle());
}

TEST_F(EngineCoreTest, SpentPartsSitOutSilentlyAndNothingIsOverspent) {
  Start(/*budget=*/0.03);
  for (int round = 0; round < 10; ++round) {
    SUBMIX_ASSERT_OK(engine_->Generate(MakeRequest(20), [](const TokenEvent&) {}));
  }
  for (int part = 0; part < kParts; ++part) EXPECT_LE(ledger_->SpentByPart(part), 0.03);
  EXPECT_EQ(ledger_->releases, 200);
}

TEST_F(EngineCoreTest, WithoutADurableChargeThereIsNoToken) {
  Start(/*budget=*/2);
  ledger_->broken = true;
  int tokens = 0;
  EXPECT_THAT(engine_->Generate(MakeRequest(5), [&](const TokenEvent&) { ++tokens; }),
              StatusIs(StatusCode::kResourceExhausted, _));
  EXPECT_EQ(tokens, 0);
  EXPECT_TRUE(engine_->idle());
}

// Where the charge is what a part says against the public model, whoever says nothing of their own
// pay for the outward rounding alone.
TEST_F(EngineCoreTest, MembersThatAreBrokenOrWithoutTextAreSilentAndPayForRounding) {
  struct Tested {
    const char* mechanism;
    double rounding;  // of 20 answers
  };
  for (const Tested tested : {Tested{"filtered-submix", 1e-12}, Tested{"filtered-dclip", 1e-10}}) {
    SCOPED_TRACE(tested.mechanism);
    Start({.mechanism = tested.mechanism});
    predictor_->BreakMember(2);
    predictor_->MakeMemberPublic(1);
    SUBMIX_ASSERT_OK(engine_->Generate(MakeRequest(20), [](const TokenEvent&) {}));
    EXPECT_LT(ledger_->SpentByPart(2), tested.rounding);
    EXPECT_LT(ledger_->SpentByPart(1), tested.rounding);
    EXPECT_GT(ledger_->SpentByPart(0), 1e-3);
  }
}

// Theorems 6, 7 and 9 at the user level: a part takes part in the same answers in both worlds, so
// what it says must not make an answer cheaper.
TEST_F(EngineCoreTest, MembersThatAreBrokenOrWithoutTextPayAConstantChargeInFull) {
  constexpr auto kDefault = mechanism::ChargeAccounting::kDefault;
  constexpr auto kWorstCase = mechanism::ChargeAccounting::kWorstCase;
  struct Tested {
    const char* mechanism;
    mechanism::ChargeAccounting accounting;
  };
  for (const Tested tested :
       {Tested{"dclip", kDefault}, Tested{"dp-decoding", kDefault}, Tested{"gnmax", kWorstCase},
        Tested{"pmixed", kWorstCase}, Tested{"sample-and-aggregate", kDefault}}) {
    SCOPED_TRACE(tested.mechanism);
    Start({.mechanism = tested.mechanism, .accounting = tested.accounting});
    predictor_->BreakMember(2);
    predictor_->MakeMemberPublic(1);
    SUBMIX_ASSERT_OK(engine_->Generate(MakeRequest(20), [](const TokenEvent&) {}));
    EXPECT_GT(ledger_->SpentByPart(0), 0.1);
    for (int part = 1; part < kParts; ++part) {
      EXPECT_EQ(ledger_->SpentByPart(part), ledger_->SpentByPart(0)) << part;
    }
  }
}

TEST_F(EngineCoreTest, ABrokenPublicModelEndsOnlyTheSequenceItBreaks) {
  Start(/*budget=*/2);
  constexpr base::TokenId kBreaking = 7;
  predictor_->BreakPublicModelAfter(kBreaking);
  Request broken = MakeRequest(20);
  broken.prompt.back() = kBreaking;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::int64_t first, engine_->Admit(broken));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::int64_t whole, engine_->Admit(MakeRequest(20)));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::int64_t last, engine_->Admit(broken));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto events, engine_->Step());
  ASSERT_EQ(events.size(), 3u);
  for (const TokenEvent& event : events) {
    EXPECT_EQ(event.end, event.request_id == whole ? AnswerEnd::kNotYet : AnswerEnd::kNoPrediction);
  }
  EXPECT_NE(first, last);
  EXPECT_EQ(predictor_->open_sequences(), 1u);
  EXPECT_EQ(ledger_->head().value().records, 2) << "its making, and one charge of one token";
  engine_->Cancel(whole);
  const double spent = ledger_->SpentByPart(0);
  EXPECT_THAT(engine_->Generate(broken, [](const TokenEvent&) { FAIL() << "a token"; }),
              StatusIs(StatusCode::kInternal, HasSubstr("public model")));
  EXPECT_EQ(ledger_->SpentByPart(0), spent) << "what has no numbers costs nothing";
  EXPECT_TRUE(engine_->idle());
}

TEST_F(EngineCoreTest, CancellationFreesTheSequenceAndRefundsNothing) {
  Start(/*budget=*/2);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::int64_t id, engine_->Admit(MakeRequest(30)));
  ASSERT_TRUE(engine_->Step().ok());
  const double spent = ledger_->SpentByPart(0);
  engine_->Cancel(id);
  EXPECT_TRUE(engine_->idle());
  EXPECT_EQ(predictor_->open_sequences(), 0u);
  EXPECT_EQ(ledger_->SpentByPart(0), spent);
}

TEST_F(EngineCoreTest, StopStringsAreNeverShown) {
  Start(/*budget=*/2);
  Request request = MakeRequest(40);
  for (char letter = 'a'; letter < 'z'; letter += 3) request.stop.push_back(std::string(1, letter));
  std::string text;
  AnswerEnd end = AnswerEnd::kNotYet;
  SUBMIX_ASSERT_OK(engine_->Generate(request, [&](const TokenEvent& event) {
    text += event.text;
    end = event.end;
  }));
  for (const std::string& stop : request.stop) EXPECT_EQ(text.find(stop), std::string::npos);
  EXPECT_EQ(end, AnswerEnd::kStop);
}

TEST_F(EngineCoreTest, TokensThatEndAnAnswerAreChargedAndAreNoText) {
  Start(/*budget=*/2);
  Request request = MakeRequest(60);
  request.end_tokens = {0, 4, 8, 14, 20};
  std::string text;
  TokenEvent last;
  int tokens = 0;
  SUBMIX_ASSERT_OK(engine_->Generate(request, [&](const TokenEvent& event) {
    text += event.text;
    last = event;
    ++tokens;
  }));
  EXPECT_EQ(last.end, AnswerEnd::kStop);
  EXPECT_THAT(request.end_tokens, testing::Contains(last.token.value()));
  EXPECT_EQ(text.find_first_of("aeiou"), std::string::npos);
  EXPECT_EQ(std::ssize(text), tokens - 1);
  EXPECT_EQ(ledger_->releases, tokens);
}

TEST_F(EngineCoreTest, EveryAnswerEndsAtTheModelsEndTokens) {
  Start({.end_tokens = {0, 4, 8, 14, 20}});
  std::string text;
  SUBMIX_ASSERT_OK(
      engine_->Generate(MakeRequest(60), [&](const TokenEvent& event) { text += event.text; }));
  EXPECT_LT(text.size(), 60u);
  EXPECT_EQ(text.find_first_of("aeiou"), std::string::npos);
}

// One entry more than the predictor knows, as a marker; one less.
class OtherTokenizer final : public tokenizer::Tokenizer {
 public:
  explicit OtherTokenizer(int entries, int text_entries)
      : entries_(entries), text_entries_(text_entries) {}
  int vocab_size() const override { return entries_; }
  base::TokenId largest_text_token() const override { return text_entries_ - 1; }
  std::size_t longest_token_bytes() const override { return 1; }
  base::TokenId end_of_text() const override { return 0; }
  base::StatusOr<std::vector<base::TokenId>> Encode(std::string_view) const override {
    return std::vector<base::TokenId>{0};
  }
  std::string Decode(std::span<const base::TokenId>) const override { return ""; }

 private:
  const int entries_, text_entries_;
};

TEST_F(EngineCoreTest, TextAndPredictionsStayWithinTheOthersVocabulary) {
  constexpr int kLetters = LetterTokenizer::kVocabulary;
  const auto create = [&](int entries, int text_entries) {
    WatchedEngine watched;
    const OtherTokenizer tokenizer(entries, text_entries);
    return watched.MakeCore(tokenizer).status();
  };
  SUBMIX_EXPECT_OK(create(kLetters, kLetters));
  SUBMIX_EXPECT_OK(create(kLetters + 1, kLetters));
  const auto is_refused = StatusIs(StatusCode::kFailedPrecondition, HasSubstr("does not belong"));
  EXPECT_THAT(create(kLetters + 1, kLetters + 1), is_refused);
  EXPECT_THAT(create(kLetters - 1, kLetters - 1), is_refused);
}

TEST_F(EngineCoreTest, RefusalsNameThePublicReason) {
  Start(/*budget=*/2);
  Request request = MakeRequest(62);
  EXPECT_THAT(engine_->Admit(request),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at most 64")));
  request = MakeRequest(0);
  EXPECT_THAT(engine_->Admit(request), StatusIs(StatusCode::kInvalidArgument, _));
  request = MakeRequest(1);
  for (const base::TokenId wrong : {-1, LetterTokenizer::kVocabulary}) {
    request.prompt.back() = wrong;
    EXPECT_THAT(engine_->Admit(request),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("token id")));
  }
  request.prompt.clear();
  EXPECT_THAT(engine_->Admit(request), StatusIs(StatusCode::kInvalidArgument, HasSubstr("empty")));
  request = MakeRequest(1);
  request.sampling.temperature = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(engine_->Admit(request), StatusIs(StatusCode::kInvalidArgument, _));
  request = MakeRequest(1);
  request.sampling.top_k_plus = 2;
  EXPECT_THAT(engine_->Admit(request),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("top_k_plus: only dclip")));
}

// A fixed number of tokens, of equal constant charges: 10 of them.
WatchedEngineOptions TenAnswers(WhenExhausted rule) {
  return {.mechanism = "dclip", .budget = 0.1, .target_leakage = 0.01, .when_exhausted = rule};
}

TEST_F(EngineCoreTest, UsedUpAnswersAreRefusedIfDeclared) {
  Start(TenAnswers(WhenExhausted::kRefuse));
  int tokens = 0;
  const auto count = [&](const TokenEvent&) { ++tokens; };
  EXPECT_THAT(engine_->Generate(MakeRequest(30), count),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("used up")));
  EXPECT_THAT(engine_->Generate(MakeRequest(1), count),
              StatusIs(StatusCode::kFailedPrecondition, _));
  EXPECT_EQ(tokens, 10);
  EXPECT_EQ(predictor_->open_sequences(), 0u);
}

TEST_F(EngineCoreTest, UsedUpAnswersComeFromThePublicModelIfDeclared) {
  Start(TenAnswers(WhenExhausted::kPublic));
  int tokens = 0;
  SUBMIX_ASSERT_OK(engine_->Generate(MakeRequest(30), [&](const TokenEvent&) { ++tokens; }));
  EXPECT_EQ(tokens, 30);
  EXPECT_EQ(ledger_->releases, 30);
  for (int part = 0; part < kParts; ++part) EXPECT_LE(ledger_->SpentByPart(part), 0.1);
}

TEST_F(EngineCoreTest, OneStepRefusesOnlyWhoCameTooLate) {
  Start(TenAnswers(WhenExhausted::kRefuse));
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(engine_->Admit(MakeRequest(3)).ok());
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto events, engine_->Step());
  ASSERT_EQ(events.size(), 12u);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].end, i < 10 ? AnswerEnd::kNotYet : AnswerEnd::kExhausted);
  }
}

TEST_F(EngineCoreTest, NothingIsRefusedWherePartsRunOutOneByOne) {
  for (const char* mechanism : {"filtered-submix", "filtered-dclip"}) {
    Start({.mechanism = mechanism, .budget = 0.03, .when_exhausted = WhenExhausted::kRefuse});
    for (int round = 0; round < 10; ++round) {
      SUBMIX_ASSERT_OK(engine_->Generate(MakeRequest(20), [](const TokenEvent&) {}));
    }
    EXPECT_EQ(ledger_->releases, 200) << mechanism;
  }
}

}  // namespace engine_core_test
}  // namespace submix::engine
