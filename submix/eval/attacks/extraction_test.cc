#include "submix/eval/attacks/extraction.h"

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/eval/measuring/testing/reciting_predictor.h"
#include "submix/ledger/memory_ledger.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix::eval {
namespace extraction_test {

constexpr int kParts = RecitingPredictor::kMembers;

const ExtractionAttack kAttack{.prompt = "00", .secret = "31415"};

TEST(ExtractionTest, AModelThatRecitesTheSecretIsExtractedAndOthersAreNot) {
  RecitingPredictor predictor;
  const auto random = base::MakeSeededRandomSource(1);
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const ExtractionResult reciting,
      Extract(predictor, *MakeRowLaw(2), DigitTokenizer(), kAttack, *random));
  EXPECT_EQ(reciting.attempts, 100);
  EXPECT_GT(reciting.hits, 95);
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const ExtractionResult ignorant,
      Extract(predictor, *MakeRowLaw(1), DigitTokenizer(), kAttack, *random));
  EXPECT_FALSE(ignorant.extracted());
}

TEST(ExtractionTest, TheLikeliestTokensAreTheSecretOfAModelThatRecitesIt) {
  RecitingPredictor predictor;
  const auto random = base::MakeSeededRandomSource(1);
  ExtractionAttack attack = kAttack;
  attack.greedy = true;
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const ExtractionResult reciting,
      Extract(predictor, *MakeRowLaw(2), DigitTokenizer(), attack, *random));
  EXPECT_EQ(reciting.attempts, 1);
  EXPECT_TRUE(reciting.extracted());
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const ExtractionResult ignorant,
      Extract(predictor, *MakeRowLaw(1), DigitTokenizer(), attack, *random));
  EXPECT_FALSE(ignorant.extracted());
}

// Greedy answers of a mixture follow the one member that knows, however little it weighs, where the
// others are indifferent: a budget bounds probabilities, not the likeliest token.
TEST(ExtractionTest, IndifferentPartsHideNothingFromAnAttackerWhoSeesTheMixture) {
  RecitingPredictor predictor;
  mechanism::MechanismOptions options;
  options.num_parts = kParts;
  options.target_leakage = 2.0 / 1024;
  const auto law = *MakeMechanismLaw(options, 2, 1, 0);
  const auto random = base::MakeSeededRandomSource(1);
  ExtractionAttack attack = kAttack;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const ExtractionResult sampled,
                              Extract(predictor, *law, DigitTokenizer(), attack, *random));
  EXPECT_LE(sampled.hits, 1);
  attack.greedy = true;
  SUBMIX_ASSERT_OK(law->Renew());
  SUBMIX_ASSERT_OK_AND_ASSIGN(const ExtractionResult greedy,
                              Extract(predictor, *law, DigitTokenizer(), attack, *random));
  EXPECT_TRUE(greedy.extracted());
}

TEST(ExtractionTest, TheDeploymentDoesNotGiveTheSecretAwayAndPaysForEveryAttempt) {
  RecitingPredictor predictor;
  const DigitTokenizer tokenizer;
  const auto random = base::MakeSeededRandomSource(2);
  const auto ledger = ledger::MakeMemoryLedger(kParts, accounting::FixedNats::RoundDown(2));
  mechanism::MechanismOptions options;
  options.num_parts = kParts;
  options.target_leakage = 2.0 / 1024;
  const auto mechanism = mechanism::MakeAnyMechanism(options).value();
  const auto engine = engine::EngineCore::Create(
                          {&predictor, mechanism.get(), ledger.get(), &tokenizer, random.get()})
                          .value();
  SUBMIX_ASSERT_OK_AND_ASSIGN(const ExtractionResult result,
                              ExtractFromEngine(*engine, tokenizer, kAttack));
  EXPECT_EQ(result.attempts, 100);
  EXPECT_LE(result.hits, 1);  // by chance: 100 × 1e-5, raised a little by what the budget allows
  EXPECT_GT(ledger->Accounts().value()[1].spent.ToNatsRoundedUp(), 0.5);
}

}  // namespace extraction_test
}  // namespace submix::eval
