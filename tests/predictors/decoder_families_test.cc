// Every family against log-probabilities of an implementation that is not this project's
// (testdata/families).
#include <fstream>
#include <iterator>
#include <memory>

#include <nlohmann/json.hpp>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/decode/cpu_predictor.h"
#include "submix/eval/measuring/token_scores.h"
#include "submix/model/testing/tiny_families.h"

namespace submix {
namespace {

using base::TokenId;
using decode::Precision;

class DecoderFamiliesTest : public ::testing::TestWithParam<const char*> {
 protected:
  DecoderFamiliesTest()
      : directory_(std::string(SUBMIX_TESTDATA_DIR) + "/families/" + GetParam()),
        reference_(nlohmann::json::parse(std::ifstream(directory_ + "/reference.json"))),
        tokens_(reference_.at("tokens")) {}

  bool HasAdapter() const { return reference_.contains("adapter_next_log_probs"); }

  decode::CpuPredictorOptions Options(Precision precision, int vocab_size = 0) const {
    decode::CpuPredictorOptions options;
    options.public_directory = directory_;
    if (HasAdapter()) options.member_directories = {directory_ + "/adapter"};
    options.precision = precision;
    options.vocab_size = vocab_size;
    options.threads = 2;
    return options;
  }

  std::unique_ptr<decode::CpuPredictor> Load(Precision precision, int vocab_size = 0) const {
    auto predictor = decode::CpuPredictor::Load(Options(precision, vocab_size));
    EXPECT_THAT(predictor, base::IsOk());
    return std::move(predictor).value();
  }

  // Of all tokens but the first, for every row.
  std::vector<eval::TokenScores> Scored(ensemble::Predictor& predictor) const {
    base::ProgressBar silent("", 0, "", base::ProgressStyle::kSilent);
    return eval::ScoreTokens(predictor, {tokens_}, silent).value();
  }

  double FarthestFromReference(Precision precision) const {
    const auto scored = Scored(*Load(precision));
    double farthest = 0;
    for (std::size_t row = 0; row < scored.size(); ++row) {
      const std::vector<double> expected =
          reference_.at(row == 0 ? "next_log_probs" : "adapter_next_log_probs");
      const std::vector<double>& found = scored[row].log_probabilities;
      EXPECT_EQ(found.size(), expected.size());
      for (std::size_t t = 0; t < expected.size(); ++t) {
        farthest = std::max(farthest, std::abs(found[t] - expected[t]));
      }
    }
    return farthest;
  }

  const std::string directory_;
  const nlohmann::json reference_;
  const std::vector<TokenId> tokens_;
};

TEST_P(DecoderFamiliesTest, InFloat32ItIsTheReference) {
  EXPECT_LT(FarthestFromReference(Precision::kFloat32), 1e-3);
}

// Random weights spread rounding more than trained ones: eight bits of mantissa over some layers,
// and seven bits with a scale a row.
TEST_P(DecoderFamiliesTest, InFewerBitsItStaysNear) {
  EXPECT_LT(FarthestFromReference(Precision::kBfloat16), 0.5);
  EXPECT_LT(FarthestFromReference(Precision::kInt8), 2);
  EXPECT_LT(FarthestFromReference(Precision::kInt4), 8);
}

// Rows beyond a tokenizer's entries are left out, and change nothing of the others.
TEST_P(DecoderFamiliesTest, PaddingOfTheVocabularyHasNoLogits) {
  for (const Precision precision :
       {Precision::kFloat32, Precision::kBfloat16, Precision::kInt8, Precision::kInt4}) {
    const auto whole = Load(precision);
    const int padded = whole->vocab_size();
    const int known = padded - 13;
    const auto predictor = Load(precision, known);
    ASSERT_EQ(predictor->vocab_size(), known);
    std::vector<TokenId> tokens;
    std::ranges::copy_if(tokens_, std::back_inserter(tokens),
                         [&](TokenId token) { return token < known; });
    const auto logits_of = [&](ensemble::Predictor& scored) {
      std::vector<float> all;
      SUBMIX_EXPECT_OK(scored.Score(tokens, 1, [&](std::size_t, std::span<const float> logits) {
        for (std::size_t at = 0; at < logits.size(); ++at) {
          const auto token = static_cast<int>(at) % scored.vocab_size();
          if (token < known) all.push_back(logits[at]);
        }
        return base::OkStatus();
      }));
      return all;
    };
    const std::vector<float> expected = logits_of(*whole);
    const std::vector<float> found = logits_of(*predictor);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(found[i], expected[i], 1e-3 * (1 + std::abs(expected[i]))) << i;
    }
    const TokenId padding[] = {known};
    EXPECT_FALSE(predictor->Score(padding, 1, nullptr).ok());
  }
  EXPECT_EQ(Load(Precision::kFloat32, 1 << 20)->vocab_size(),
            Load(Precision::kFloat32)->vocab_size());
}

// Through the cache of keys and values, in pieces of any size, the same bits as at once.
TEST_P(DecoderFamiliesTest, StepsOfAnySizeAreTheWholeInFloat32) {
  const auto predictor = Load(Precision::kFloat32);
  const auto vocabulary = static_cast<std::size_t>(predictor->vocab_size());
  const auto rows = static_cast<std::size_t>(1 + predictor->num_members());
  std::vector<float> at_once(rows * vocabulary), in_pieces(rows * vocabulary);
  const ensemble::SequenceId whole = predictor->Open();
  SUBMIX_ASSERT_OK(
      predictor->Step(std::vector{ensemble::Predictor::Append{whole, tokens_}}, at_once));
  for (const std::size_t piece : {1, 7, 17}) {
    const ensemble::SequenceId cut = predictor->Open();
    for (std::size_t begin = 0; begin < tokens_.size(); begin += piece) {
      const std::size_t count = std::min(piece, tokens_.size() - begin);
      SUBMIX_ASSERT_OK(predictor->Step(
          std::vector{ensemble::Predictor::Append{cut, std::span(tokens_).subspan(begin, count)}},
          in_pieces));
    }
    EXPECT_EQ(in_pieces, at_once) << piece;
    predictor->Close(cut);
  }
}

// Behind tokens that it does not see a text is what it is alone, whatever the positions, the
// windows and the caps.
TEST_P(DecoderFamiliesTest, HiddenTokensAreSeenByNone) {
  const auto predictor = Load(Precision::kFloat32);
  std::vector<float> alone(static_cast<std::size_t>(1 + predictor->num_members()) *
                           static_cast<std::size_t>(predictor->vocab_size()));
  std::vector<float> behind(alone.size());
  const auto half = std::span(tokens_).first(tokens_.size() / 2);
  SUBMIX_ASSERT_OK(
      predictor->Step(std::vector{ensemble::Predictor::Append{predictor->Open(), half}}, alone));
  const ensemble::SequenceId sequence = predictor->OpenHidden(5, 0);
  SUBMIX_ASSERT_OK(predictor->Step(
      std::vector{ensemble::Predictor::Append{sequence, std::span(tokens_).last(5), false}}, {}));
  SUBMIX_ASSERT_OK(
      predictor->Step(std::vector{ensemble::Predictor::Append{sequence, half}}, behind));
  for (std::size_t i = 0; i < alone.size(); ++i) {
    ASSERT_NEAR(behind[i], alone[i], 1e-4 * (1 + std::abs(alone[i])));
  }
}

TEST_P(DecoderFamiliesTest, ItsMemoryIsKnownBeforeItLoads) {
  for (const Precision precision :
       {Precision::kFloat32, Precision::kBfloat16, Precision::kInt8, Precision::kInt4}) {
    for (const int vocab_size : {0, 200}) {
      SUBMIX_ASSERT_OK_AND_ASSIGN(const auto plan,
                                  decode::CpuPredictor::Plan(Options(precision, vocab_size)));
      EXPECT_EQ(plan, Load(precision, vocab_size)->memory());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, DecoderFamiliesTest, model::TinyFamilies(),
                         model::TinyFamilyName);

}  // namespace
}  // namespace submix
