#include "submix/eval/extraction.h"

#include <algorithm>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/ledger/memory_ledger.h"

namespace submix::eval {
namespace {

constexpr int kDigits = 10;  // token d is digit d; token 10 ends the text
constexpr int kParts = 4;

class DigitTokenizer final : public tokenizer::Tokenizer {
 public:
  int vocab_size() const override { return kDigits + 1; }
  base::TokenId end_of_text() const override { return kDigits; }
  std::vector<base::TokenId> Encode(std::string_view bytes) const override {
    std::vector<base::TokenId> tokens;
    for (const char byte : bytes) tokens.push_back(byte - '0');
    return tokens;
  }
  std::string Decode(std::span<const base::TokenId> tokens) const override {
    std::string bytes;
    for (const base::TokenId token : tokens) {
      if (token < kDigits) bytes.push_back(static_cast<char>('0' + token));
    }
    return bytes;
  }
};

// The public model and all members but one know nothing; member 1 recites "…31415".
class RecitingPredictor final : public ensemble::Predictor {
 public:
  int num_members() const override { return kParts; }
  int vocab_size() const override { return kDigits + 1; }
  int context_length() const override { return 32; }
  ensemble::SequenceId Open() override {
    lengths_.push_back(0);
    return static_cast<ensemble::SequenceId>(lengths_.size()) - 1;
  }
  void Close(ensemble::SequenceId) override {}
  base::Status Step(std::span<const Append> appends, std::span<float> logits) override {
    constexpr int kSecret[] = {3, 1, 4, 1, 5, 9};
    std::fill(logits.begin(), logits.end(), 0.0f);
    for (std::size_t s = 0; s < appends.size(); ++s) {
      int& length = lengths_[static_cast<std::size_t>(appends[s].sequence)];
      length += static_cast<int>(appends[s].tokens.size());
      const std::size_t row = (s * (kParts + 1) + 2) * (kDigits + 1);
      logits[row + static_cast<std::size_t>(kSecret[(length - 2) % 6])] = 12;
    }
    return base::OkStatus();
  }
  base::Status Score(std::span<const base::TokenId>, std::size_t, const PositionSink&) override {
    return base::UnimplementedError("not needed");
  }

 private:
  std::vector<int> lengths_;
};

const ExtractionAttack kAttack{.prompt = "00", .secret = "31415"};

TEST(ExtractionTest, AModelThatRecitesTheSecretIsExtractedAndOthersAreNot) {
  RecitingPredictor predictor;
  const auto random = base::MakeSeededRandomSource(1);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const ExtractionResult reciting,
                              ExtractFromMember(predictor, 1, DigitTokenizer(), kAttack, *random));
  EXPECT_EQ(reciting.attempts, 100);
  EXPECT_GT(reciting.hits, 95);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const ExtractionResult ignorant,
                              ExtractFromMember(predictor, 0, DigitTokenizer(), kAttack, *random));
  EXPECT_FALSE(ignorant.extracted());
}

TEST(ExtractionTest, TheDeploymentDoesNotGiveTheSecretAwayAndPaysForEveryAttempt) {
  RecitingPredictor predictor;
  const DigitTokenizer tokenizer;
  const auto random = base::MakeSeededRandomSource(2);
  const auto ledger = ledger::MakeMemoryLedger(kParts, accounting::FixedNats::RoundDown(2));
  mechanism::MechanismOptions options;
  options.num_parts = kParts;
  options.target_leakage = 2.0 / 1024;
  const auto mechanism = mechanism::MakeMechanism(options).value();
  const auto engine = engine::EngineCore::Create(
                          {&predictor, mechanism.get(), ledger.get(), &tokenizer, random.get()})
                          .value();
  SUBMIX_ASSERT_OK_AND_ASSIGN(const ExtractionResult result,
                              ExtractFromEngine(*engine, tokenizer, kAttack));
  EXPECT_EQ(result.attempts, 100);
  EXPECT_LE(result.hits, 1);  // by chance: 100 × 1e-5, raised a little by what the budget allows
  EXPECT_GT(ledger->Accounts().value()[1].spent.ToNatsRoundedUp(), 0.5);
}

}  // namespace
}  // namespace submix::eval
