#include "submix/eval/figures/decoding_examples.h"

#include <cmath>

#include "submix/base/testing/status_matchers.h"
#include "submix/ensemble/testing/fake_predictor.h"

namespace submix::eval {
namespace decoding_examples_test {

// Theorem 1 of the paper: epsilon = T log((1 + (V - 1) l) / (1 - l)).
TEST(DecodingExamplesTest, ATokenCostsWhatTheTheoremSays) {
  for (const double weight : {0.0, 0.1, 0.5, 0.99}) {
    EXPECT_NEAR(DpDecodingTokenNats(weight, 50257), std::log((1 + 50256 * weight) / (1 - weight)),
                1e-12);
  }
}

TEST(DecodingExamplesTest, OneCompletionForEachWeightOfTheFirstLongTexts) {
  const auto tokenizer = tokenizer::Tokenizer::Load(SUBMIX_DATA_DIR "/public_model").value();
  ensemble::FakePredictor predictor(1, tokenizer->vocab_size(), 1.0);
  HeldoutBlocks blocks(3, std::vector<base::TokenId>(50, 65));
  blocks[0].resize(10);
  const auto sample = [&](std::uint64_t seed) {
    return SampleDecodingExamples(predictor, *tokenizer, blocks, {0.9, 0.1}, 5, seed);
  };
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto examples, sample(1));
  ASSERT_EQ(examples.size(), 2u);
  for (const DecodingExample& example : examples) {
    EXPECT_EQ(example.prompt, example.truth);
    ASSERT_EQ(example.completions.size(), 2u);
    EXPECT_NE(example.completions[0], example.completions[1]);
  }
  EXPECT_EQ(sample(1).value()[0].completions, examples[0].completions);
  EXPECT_NE(sample(2).value()[0].completions, examples[0].completions);
  blocks.resize(1);
  EXPECT_THAT(sample(1),
              base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr("48 tokens")));
}

}  // namespace decoding_examples_test
}  // namespace submix::eval
