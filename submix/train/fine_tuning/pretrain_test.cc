#include "submix/train/fine_tuning/pretrain.h"

#include <fstream>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/tokenizer/tokenizer.h"
#include "submix/train/models/testing/right_predictions.h"
#include "submix/train/models/torch_predictor.h"

namespace submix::train {
namespace pretrain_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;

constexpr auto kSilent = base::ProgressStyle::kSilent;

class PretrainTest : public ::testing::Test {
 protected:
  PretrainTest() {
    options_.tokenizer_directory = std::string(SUBMIX_DATA_DIR) + "/public_model";
    options_.text_files = {directory_.File("a.txt"), directory_.File("b.txt")};
    std::string text;
    for (int i = 0; i < 30; ++i) text += "It rains on Mondays.\nThe sun shines on Tuesdays.\n";
    Write(options_.text_files[0], text + "<|endoftext|>\n" + text + "<|endoftext|>\n");
    Write(options_.text_files[1], text);
    options_.output_directory = directory_.File("model");
    options_.config.context_length = 16;
    options_.config.width = 16;
    options_.config.layers = 2;
    options_.config.attention_heads = 2;
    options_.training.batch_size = 4;
    options_.training.learning_rate.peak = 0.01;
    options_.training.threads = 1;
    options_.training.checkpoint_every = 5;
  }

  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }

  std::string ModelBytes(const std::string& directory) {
    auto bytes = base::ReadFile(directory + "/model.safetensors");
    SUBMIX_EXPECT_OK(bytes);
    return *bytes;
  }

  // From a start that knows nothing, which a training at no rate leaves as it is.
  void ExpectLearned() {
    PretrainOptions resting = options_;
    resting.output_directory = directory_.File("start");
    resting.training.learning_rate.peak = 1e-12;
    SUBMIX_ASSERT_OK(Pretrain(resting, kSilent));
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto tokenizer,
                                tokenizer::Tokenizer::Load(options_.tokenizer_directory));
    auto tokens = tokenizer->Encode("It rains on Mondays.\nThe sun shines on Tuesdays.\n").value();
    tokens.resize(std::min<std::size_t>(tokens.size(), 16));
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto losses, MeanLosses(resting.output_directory,
                                                              options_.output_directory, {tokens}));
    EXPECT_NEAR(losses[0], std::log(8192.0), 0.2);
    EXPECT_LT(losses[1], 0.8 * losses[0]);
  }

  base::TemporaryDirectory directory_;
  PretrainOptions options_;
};

TEST_F(PretrainTest, LearnsAndWritesAModelThatLoads) {
  SUBMIX_ASSERT_OK(Pretrain(options_, kSilent));
  ExpectLearned();
  TorchPredictorOptions predictor_options;
  predictor_options.public_directory = options_.output_directory;
  predictor_options.threads = 1;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto predictor, TorchPredictor::Load(predictor_options));
  EXPECT_EQ(predictor->vocab_size(), 8192);
  SUBMIX_EXPECT_OK(tokenizer::Tokenizer::Load(options_.output_directory));
  EXPECT_THAT(Pretrain(options_, kSilent), StatusIs(StatusCode::kAlreadyExists, HasSubstr("")));
}

TEST_F(PretrainTest, GoesOnAfterACrashWithTheSameBits) {
  SUBMIX_ASSERT_OK(Pretrain(options_, kSilent));
  PretrainOptions crashing = options_;
  crashing.output_directory = directory_.File("resumed");
  crashing.training.should_stop = [left = 8]() mutable { return left-- == 0; };
  EXPECT_THAT(Pretrain(crashing, kSilent), StatusIs(StatusCode::kUnavailable, HasSubstr("")));
  crashing.training.should_stop = nullptr;
  SUBMIX_ASSERT_OK(Pretrain(crashing, kSilent));
  EXPECT_EQ(ModelBytes(options_.output_directory), ModelBytes(crashing.output_directory));
}

TEST_F(PretrainTest, ALlamaLearnsAndLoads) {
  options_.config.family = "llama";
  options_.config.key_value_heads = 1;
  SUBMIX_ASSERT_OK(Pretrain(options_, kSilent));
  ExpectLearned();
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto config,
                              model::LoadDecoderConfig(options_.output_directory + "/config.json"));
  EXPECT_EQ(config.family, "llama");
  EXPECT_EQ(config.num_key_value_heads(), 1);
  TorchPredictorOptions predictor_options;
  predictor_options.public_directory = options_.output_directory;
  predictor_options.threads = 1;
  SUBMIX_EXPECT_OK(TorchPredictor::Load(predictor_options));
}

TEST_F(PretrainTest, RefusesShapesThatNoFamilyHas) {
  const auto expect_refused = [&](const char* reason) {
    EXPECT_THAT(Pretrain(options_, kSilent),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(reason)));
  };
  options_.config.key_value_heads = 1;
  expect_refused("a gpt2 has as many");
  options_.config.family = "llama";
  options_.config.attention_heads = 4;
  options_.config.key_value_heads = 3;
  expect_refused("divides attention_heads");
  options_.config.key_value_heads = 4;
  options_.config.width = 12;
  expect_refused("rotary positions");
  options_.config.family = "gemma2";
  expect_refused("expected gpt2 or llama, found gemma2");
}

TEST_F(PretrainTest, RefusesTextShorterThanARow) {
  options_.max_tokens = 10;
  EXPECT_THAT(Pretrain(options_, kSilent),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("10 tokens")));
  options_.config.attention_heads = 3;
  EXPECT_THAT(Pretrain(options_, kSilent),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("multiple")));
}

TEST_F(PretrainTest, DocumentsEndAtTheirMarkerAndAtTheEndOfAFile) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto tokenizer,
                              tokenizer::Tokenizer::Load(options_.tokenizer_directory));
  Write(options_.text_files[0], "one\n<|endoftext|>\n<|endoftext|>\ntwo <|endoftext|> three\n");
  Write(options_.text_files[1], "four\n");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::vector<base::TokenId> tokens,
                              ReadDocumentTokens(options_.text_files, *tokenizer, 0));
  std::vector<base::TokenId> expected;
  for (const char* document : {"one\n", "two <|endoftext|> three\n", "four\n"}) {
    const auto encoded = tokenizer->Encode(document).value();
    expected.insert(expected.end(), encoded.begin(), encoded.end());
    expected.push_back(tokenizer->end_of_text());
  }
  EXPECT_EQ(tokens, expected);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::vector<base::TokenId> few,
                              ReadDocumentTokens(options_.text_files, *tokenizer, 3));
  EXPECT_EQ(few, std::vector<base::TokenId>(expected.begin(), expected.begin() + 3));
}

}  // namespace pretrain_test
}  // namespace submix::train
