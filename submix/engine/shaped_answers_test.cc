// Theorem 17 of docs/privacy.md: what a shape leaves to choose from depends on nothing private, and
// a token that it forces costs nothing.
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/engine/testing/watched_engine.h"

namespace submix::engine {
namespace shaped_answers_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

// Notes the public law on the support of every token that is drawn, by the text before it.
class NotingMechanism final : public mechanism::Mechanism {
 public:
  explicit NotingMechanism(std::unique_ptr<mechanism::Mechanism> mechanism)
      : mechanism_(std::move(mechanism)) {}

  std::string_view name() const override { return mechanism_->name(); }
  bool is_sound() const override { return mechanism_->is_sound(); }
  accounting::PrivacyStatement Statement(accounting::FixedNats budget) const override {
    return mechanism_->Statement(budget);
  }
  base::StatusOr<std::unique_ptr<mechanism::Proposal>> Propose(
      const mechanism::PartPredictions& predictions,
      std::span<const accounting::FixedNats> remaining, base::ReleaseId release) const override {
    noted[text].assign(predictions.public_pmf.begin(), predictions.public_pmf.end());
    return mechanism_->Propose(predictions, remaining, release);
  }

  std::string text;
  mutable std::map<std::string, std::vector<double>> noted;

 private:
  const std::unique_ptr<mechanism::Mechanism> mechanism_;
};

class ShapedAnswers : public testing::Test {
 protected:
  void Start(const WatchedEngineOptions& options = {}) {
    watched_ = std::make_unique<WatchedEngine>(options);
    engine_ = watched_->MakeCore();
  }

  Request Asking(EngineCore& engine, const std::string& pattern, int max_tokens) {
    Request request;
    request.prompt = {1, 2, 3};
    request.max_tokens = max_tokens;
    auto shape = engine.CompileShape({shape::ShapeKind::kRegex, pattern});
    EXPECT_TRUE(shape.ok()) << shape.status();
    request.shape = *shape;
    return request;
  }

  std::string Answer(const Request& request, AnswerEnd expected = AnswerEnd::kStop) {
    std::string text;
    AnswerEnd end = AnswerEnd::kNotYet;
    SUBMIX_EXPECT_OK(engine_->Generate(request, [&](const TokenEvent& event) {
      text += event.text;
      end = event.end;
    }));
    EXPECT_EQ(end, expected) << text;
    return text;
  }

  std::unique_ptr<WatchedEngine> watched_;
  std::unique_ptr<EngineCore> engine_;
};

TEST_F(ShapedAnswers, WhatIsForcedMovesNoLedger) {
  Start();
  const auto before = watched_->ledger.head().value();
  EXPECT_EQ(Answer(Asking(*engine_, "hello", 5)), "hello");
  const auto after = watched_->ledger.head().value();
  EXPECT_EQ(after.records, before.records);
  EXPECT_EQ(after.hash, before.hash);
  EXPECT_EQ(watched_->ledger.transactions, 0);
  EXPECT_EQ(watched_->ledger.SpentByPart(0), 0);
  EXPECT_EQ(watched_->predictor.first_to_predict.size(), 0u) << "nobody asks for logits";
}

TEST_F(ShapedAnswers, WhatIsChosenIsChargedOnce) {
  Start();
  const std::string text = Answer(Asking(*engine_, "yes(good|bad)no", 20));
  EXPECT_TRUE(text == "yesgoodno" || text == "yesbadno") << text;
  EXPECT_EQ(watched_->ledger.releases, 1);
  EXPECT_GT(watched_->ledger.SpentByPart(0), 0);
  SUBMIX_EXPECT_OK(watched_->ledger.Verify());
}

TEST_F(ShapedAnswers, ForcedAndDrawnTokensShareAStep) {
  Start();
  ASSERT_TRUE(engine_->Admit(Asking(*engine_, "ab", 9)).ok());
  Request free;
  free.prompt = {4};
  free.max_tokens = 2;
  ASSERT_TRUE(engine_->Admit(free).ok());
  ASSERT_TRUE(engine_->Admit(Asking(*engine_, "[xy]z", 9)).ok());
  SUBMIX_ASSERT_OK_AND_ASSIGN(auto events, engine_->Step());
  EXPECT_EQ(events.size(), 3u);
  EXPECT_EQ(watched_->ledger.releases, 2);
  SUBMIX_ASSERT_OK_AND_ASSIGN(events, engine_->Step());
  EXPECT_EQ(events.size(), 3u);
  EXPECT_EQ(watched_->ledger.releases, 3);
  EXPECT_EQ(watched_->ledger.transactions, 2);
  EXPECT_TRUE(engine_->idle());
}

TEST_F(ShapedAnswers, EveryMechanismKeepsTheShapeWithEverySupport) {
  const std::string pattern = "(ab|cd){1,3}x[a-m]*y";
  const std::regex expected(pattern);
  for (const auto* mechanism : {"filtered-submix", "dclip", "filtered-dclip", "screened", "pmixed",
                                "dp-decoding", "sample-and-aggregate", "gnmax", "public"}) {
    WatchedEngineOptions options;
    options.mechanism = mechanism;
    if (options.mechanism == "pmixed") options.accounting = mechanism::ChargeAccounting::kWorstCase;
    Start(options);
    for (int i = 0; i < 8; ++i) {
      Request request = Asking(*engine_, pattern, 8 + i);
      request.sampling.top_k = i % 3;
      request.sampling.top_p = i % 2 == 0 ? 1 : .7;
      EXPECT_TRUE(std::regex_match(Answer(request), expected)) << mechanism;
    }
  }
}

TEST_F(ShapedAnswers, SupportsAreTheSameWhateverMembersSay) {
  std::vector<std::map<std::string, std::vector<double>>> noted;
  for (const bool is_neighbour : {false, true}) {
    ensemble::FakePredictor predictor(4, LetterTokenizer::kVocabulary, is_neighbour ? 2 : .1);
    if (is_neighbour) predictor.BreakMember(2);
    WatchedLedger ledger(4, /*budget=*/5);
    mechanism::MechanismOptions declared;
    declared.num_parts = 4;
    declared.name = "filtered-submix";
    declared.target_leakage = .01;
    NotingMechanism mechanism(mechanism::MakeAnyMechanism(declared).value());
    const auto random = base::MakeSeededRandomSource(is_neighbour ? 7 : 8);
    const LetterTokenizer tokenizer;
    const auto core =
        EngineCore::Create({&predictor, &mechanism, &ledger, &tokenizer, random.get()}).value();
    for (int i = 0; i < 200; ++i) {
      Request request = Asking(*core, "[a-f][c-z]{1,2}(ab|ac|b)", 6);
      request.sampling.top_k = 3;
      mechanism.text.clear();
      SUBMIX_ASSERT_OK(
          core->Generate(request, [&](const TokenEvent& event) { mechanism.text += event.text; }));
    }
    noted.push_back(mechanism.noted);
  }
  std::size_t both = 0;
  for (const auto& [text, law] : noted[0]) {
    const auto other = noted[1].find(text);
    if (other == noted[1].end()) continue;
    EXPECT_EQ(other->second, law) << "after '" << text << "'";
    ++both;
  }
  EXPECT_GT(both, 10u);
}

TEST_F(ShapedAnswers, EndsWithinItsTokens) {
  Start({.end_tokens = {25}});
  for (int most = 3; most < 20; ++most) {
    const std::string text = Answer(Asking(*engine_, "(a|b)*cc[cd]", most));
    EXPECT_LE(text.size(), static_cast<std::size_t>(most));
    EXPECT_TRUE(std::regex_match(text, std::regex("[ab]*cc[cd]"))) << text;
  }
  // May end, or go on: the end is a token as any other, and is where it may be alone.
  for (int i = 0; i < 20; ++i) {
    std::string text;
    SUBMIX_ASSERT_OK(engine_->Generate(Asking(*engine_, "(ab)*", 7),
                                       [&](const TokenEvent& event) { text += event.text; }));
    EXPECT_TRUE(std::regex_match(text, std::regex("(ab){0,3}"))) << text;
  }
}

TEST_F(ShapedAnswers, OneOfAFewTokensIsOneDraw) {
  Start();
  Request request;
  request.prompt = {1, 2, 3};
  request.max_tokens = 1;
  request.one_of = {3, 5, 20};
  std::map<std::string, int> drawn;
  for (int i = 0; i < 60; ++i) ++drawn[Answer(request)];
  EXPECT_EQ(drawn["d"] + drawn["f"] + drawn["u"], 60);
  EXPECT_EQ(drawn.size(), 3u);
  EXPECT_EQ(watched_->ledger.releases, 60);
  request.one_of = {5};
  EXPECT_EQ(Answer(request), "f");
  EXPECT_EQ(watched_->ledger.releases, 60) << "forced";
  request.one_of = {5, 1000};
  EXPECT_THAT(engine_->Admit(request),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("choose from have the token id")));
}

TEST_F(ShapedAnswers, WhatNoTextMeetsIsRefusedBeforeAnythingIsCharged) {
  Start();
  EXPECT_THAT(engine_->Admit(Asking(*engine_, "[a-z]{9}", 8)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("takes 9 tokens")));
  EXPECT_THAT(engine_->CompileShape({shape::ShapeKind::kRegex, "A|1"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("cannot spell")));
  // It may be empty at once, but no token says so and none begins the rest.
  EXPECT_THAT(engine_->Admit(Asking(*engine_, "(abc)?", 2)),
              StatusIs(StatusCode::kInvalidArgument, _));
  EXPECT_EQ(watched_->ledger.transactions, 0);
  EXPECT_EQ(watched_->predictor.rows, 0);
  EXPECT_EQ(Answer(Asking(*engine_, "[a-z]{9}", 9)).size(), 9u);
}

}  // namespace shaped_answers_test
}  // namespace submix::engine
