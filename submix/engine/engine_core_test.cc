#include "submix/engine/engine_core.h"

#include <limits>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/ensemble/testing/fake_predictor.h"
#include "submix/ledger/memory_ledger.h"

namespace submix::engine {
namespace {

using accounting::FixedNats;
using base::StatusCode;
using base::StatusIs;
using testing::_;
using testing::HasSubstr;

constexpr int kParts = 4;
constexpr int kVocabulary = 26;

// One token a letter. The end of text is no letter, and so is never drawn.
class LetterTokenizer final : public tokenizer::Tokenizer {
 public:
  int vocab_size() const override { return kVocabulary; }
  base::TokenId end_of_text() const override { return kVocabulary; }
  std::vector<base::TokenId> Encode(std::string_view bytes) const override {
    std::vector<base::TokenId> tokens;
    for (const char byte : bytes) tokens.push_back(byte - 'a');
    return tokens;
  }
  std::string Decode(std::span<const base::TokenId> tokens) const override {
    std::string bytes;
    for (const base::TokenId token : tokens) bytes.push_back(static_cast<char>('a' + token));
    return bytes;
  }
};

// Counts what reaches the ledger, and can break it.
class WatchedLedger final : public ledger::Ledger {
 public:
  explicit WatchedLedger(double budget)
      : ledger_(ledger::MakeMemoryLedger(kParts, FixedNats::RoundDown(budget))) {}

  base::StatusOr<std::vector<ledger::Receipt>> Charge(
      std::span<const ledger::ChargeRequest> step) override {
    if (broken) return base::ResourceExhaustedError("disk full");
    ++transactions;
    releases += static_cast<int>(step.size());
    return ledger_->Charge(step);
  }
  base::StatusOr<std::vector<ledger::Account>> Accounts() const override {
    return ledger_->Accounts();
  }
  base::StatusOr<Head> head() const override { return ledger_->head(); }
  base::Status Verify() const override { return ledger_->Verify(); }

  bool broken = false;
  int transactions = 0;
  int releases = 0;

 private:
  std::unique_ptr<ledger::Ledger> ledger_;
};

class EngineCoreTest : public testing::Test {
 protected:
  void Start(double budget, double spread = 0.5) {
    predictor_ = std::make_unique<ensemble::FakePredictor>(kParts, kVocabulary, spread);
    ledger_ = std::make_unique<WatchedLedger>(budget);
    mechanism::MechanismOptions options;
    options.num_parts = kParts;
    options.target_leakage = 0.01;
    mechanism_ = mechanism::MakeMechanism(options).value();
    engine_ = EngineCore::Create(
                  {predictor_.get(), mechanism_.get(), ledger_.get(), &tokenizer_, random_.get()})
                  .value();
  }

  Request MakeRequest(int max_tokens) {
    Request request;
    request.prompt = {1, 2, 3};
    request.max_tokens = max_tokens;
    return request;
  }

  double SpentByPart(int part) {
    return ledger_->Accounts().value()[static_cast<std::size_t>(part)].spent.ToNatsRoundedUp();
  }

  LetterTokenizer tokenizer_;
  std::unique_ptr<base::RandomSource> random_ = base::MakeSeededRandomSource(1);
  std::unique_ptr<ensemble::FakePredictor> predictor_;
  std::unique_ptr<WatchedLedger> ledger_;
  std::unique_ptr<mechanism::Mechanism> mechanism_;
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
  EXPECT_GT(SpentByPart(0), 0);
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

TEST_F(EngineCoreTest, SpentPartsSitOutSilentlyAndNothingIsOverspent) {
  Start(/*budget=*/0.03);
  for (int round = 0; round < 10; ++round) {
    SUBMIX_ASSERT_OK(engine_->Generate(MakeRequest(20), [](const TokenEvent&) {}));
  }
  for (int part = 0; part < kParts; ++part) EXPECT_LE(SpentByPart(part), 0.03);
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

TEST_F(EngineCoreTest, ABrokenMemberIsSilentAndFree) {
  Start(/*budget=*/2);
  predictor_->BreakMember(2);
  SUBMIX_ASSERT_OK(engine_->Generate(MakeRequest(20), [](const TokenEvent&) {}));
  EXPECT_LT(SpentByPart(2), 1e-12);  // nothing but the outward rounding
  EXPECT_GT(SpentByPart(1), 0);
}

TEST_F(EngineCoreTest, CancellationFreesTheSequenceAndRefundsNothing) {
  Start(/*budget=*/2);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::int64_t id, engine_->Admit(MakeRequest(30)));
  ASSERT_TRUE(engine_->Step().ok());
  const double spent = SpentByPart(0);
  engine_->Cancel(id);
  EXPECT_TRUE(engine_->idle());
  EXPECT_EQ(predictor_->open_sequences(), 0u);
  EXPECT_EQ(SpentByPart(0), spent);
}

TEST_F(EngineCoreTest, StopStringsAreNeverShown) {
  Start(/*budget=*/2);
  Request request = MakeRequest(40);
  for (char letter = 'a'; letter < 'z'; letter += 3) request.stop.push_back(std::string(1, letter));
  std::string text;
  FinishReason reason = FinishReason::kNone;
  SUBMIX_ASSERT_OK(engine_->Generate(request, [&](const TokenEvent& event) {
    text += event.text;
    reason = event.finish_reason;
  }));
  for (const std::string& stop : request.stop) EXPECT_EQ(text.find(stop), std::string::npos);
  EXPECT_EQ(reason, FinishReason::kStop);
}

TEST_F(EngineCoreTest, RefusalsNameThePublicReason) {
  Start(/*budget=*/2);
  Request request = MakeRequest(62);
  EXPECT_THAT(engine_->Admit(request),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at most 64")));
  request = MakeRequest(0);
  EXPECT_THAT(engine_->Admit(request), StatusIs(StatusCode::kInvalidArgument, _));
  request = MakeRequest(1);
  request.prompt.clear();
  EXPECT_THAT(engine_->Admit(request), StatusIs(StatusCode::kInvalidArgument, HasSubstr("empty")));
  request = MakeRequest(1);
  request.sampling.temperature = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(engine_->Admit(request), StatusIs(StatusCode::kInvalidArgument, _));
}

}  // namespace
}  // namespace submix::engine
