#include "submix/model/decoder_config.h"

#include <string>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::model {
namespace gpt_config_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class GptConfigTest : public ::testing::Test {
 protected:
  base::StatusOr<DecoderConfig> Load(const std::string& text) {
    EXPECT_THAT(base::WriteFile(path_, text), base::IsOk());
    return LoadDecoderConfig(path_);
  }
  // A valid file in which `from` is replaced by `to`.
  base::StatusOr<DecoderConfig> LoadWith(const std::string& from, const std::string& to) {
    std::string text = R"({"model_type": "gpt2", "activation_function": "gelu_new",
        "vocab_size": 50257, "n_positions": 1024, "n_ctx": 1024, "n_embd": 768, "n_layer": 12,
        "n_head": 12, "layer_norm_epsilon": 1e-05, "eos_token_id": 50256, "n_inner": null,
        "tie_word_embeddings": true, "resid_pdrop": 0.1})";
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return Load(text.replace(at, from.size(), to));
  }

  base::TemporaryDirectory directory_;
  std::string path_ = directory_.File("config.json");
};

const DecoderConfig kSmall = {.vocab_size = 50257,
                              .context_length = 1024,
                              .width = 768,
                              .layers = 12,
                              .attention_heads = 12,
                              .norm_epsilon = 1e-5,
                              .end_of_text = 50256};

TEST_F(GptConfigTest, ReadsGpt2Small) { EXPECT_EQ(*LoadWith("768", "768"), kSmall); }

TEST_F(GptConfigTest, ReadsTheBundledModel) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const DecoderConfig config,
                              LoadDecoderConfig(SUBMIX_DATA_DIR "/public_model/config.json"));
  EXPECT_EQ(config, (DecoderConfig{.vocab_size = 8192,
                                   .context_length = 512,
                                   .width = 256,
                                   .layers = 6,
                                   .attention_heads = 4,
                                   .norm_epsilon = 1e-5,
                                   .end_of_text = 8191}));
}

TEST_F(GptConfigTest, WhatIsSavedIsLoaded) {
  DecoderConfig config = kSmall;
  config.norm_epsilon = 1.0 / 3e6;
  EXPECT_EQ(*Load(DecoderConfigJson(config)), config);
}

TEST_F(GptConfigTest, ModelsSavedInFloat32SaySo) {
  const std::string silent = "{ \"model_type\": \"gpt2\" }";
  EXPECT_EQ(ConfigOfFloats(silent), silent);
  EXPECT_EQ(ConfigOfFloats(R"({"torch_dtype": "bfloat16", "n_embd": 768})"),
            "{\n  \"torch_dtype\": \"float32\",\n  \"n_embd\": 768\n}\n");
  EXPECT_EQ(ConfigOfFloats(R"({"dtype": "float16"})"), "{\n  \"dtype\": \"float32\"\n}\n");
}

TEST_F(GptConfigTest, HuggingFacesDefaultsNeedNotBeSpelledOut) {
  for (const char* field :
       {R"("tie_word_embeddings": true,)", R"("activation_function": "gelu_new",)",
        R"("layer_norm_epsilon": 1e-05,)", R"("n_inner": null,)", R"("n_ctx": 1024,)",
        R"("n_positions": 1024,)", R"("vocab_size": 50257,)", R"("n_embd": 768,)",
        R"("n_layer": 12,)", R"("eos_token_id": 50256,)"}) {
    EXPECT_EQ(*LoadWith(field, ""), kSmall) << field;
  }
  EXPECT_EQ(*LoadWith("gelu_new", "gelu_pytorch_tanh"), kSmall);
  EXPECT_EQ(*LoadWith("\"n_inner\": null", "\"n_inner\": 3072"), kSmall);
}

TEST_F(GptConfigTest, FieldsThatHuggingFaceReadsAreRead) {
  EXPECT_EQ(LoadWith("\"n_inner\": null", "\"n_inner\": 1024")->width_of_mlp(), 1024);
  EXPECT_FALSE(LoadWith("\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false")
                   ->has_tied_embeddings);
  EXPECT_EQ(LoadWith("50256", "[7, 50256]")->end_of_text, 7);
  EXPECT_EQ(LoadWith("50256", "null")->end_of_text, 0);
  // Names that its classes have for all families.
  EXPECT_EQ(*LoadWith("\"n_embd\": 768", "\"hidden_size\": 768"), kSmall);
  EXPECT_EQ(LoadWith("\"n_layer\": 12", "\"num_hidden_layers\": 3")->layers, 3);
}

TEST_F(GptConfigTest, FieldsThatChangeNoNumberAreIgnored) {
  for (const char* field :
       {R"("n_ctx": 512)", R"("architectures": ["GPT2LMHeadModel"])", R"("architectures": null)",
        R"("torch_dtype": "float16")", R"("summary_type": "cls_index")", R"("temperature": 0.7)",
        R"("task_specific_params": {"text-generation": {"max_length": 50}})",
        R"("id2label": {"0": "LABEL_0"})", R"("pad_token_id": -1)", R"("is_causal": true)",
        R"("quantization_config": null)", R"("pruned_heads": {})"}) {
    EXPECT_EQ(*LoadWith("\"n_ctx\": 1024", field), kSmall) << field;
  }
}

TEST_F(GptConfigTest, FieldsThatChangeTheModelAreRefusedByName) {
  struct Case {
    const char* from;
    const char* to;
    const char* field;
  };
  for (const Case& c : {
           Case{"\"gpt2\"", "\"gpt_neox\"", "model_type"},
           Case{"\"model_type\": \"gpt2\",", "", "model_type"},
           Case{"gelu_new", "relu", "activation_function"},
           Case{"\"resid_pdrop\": 0.1", "\"scale_attn_weights\": false", "scale_attn_weights"},
           Case{"\"resid_pdrop\": 0.1", "\"scale_attn_by_inverse_layer_idx\": true",
                "scale_attn_by_inverse_layer_idx"},
           Case{"\"resid_pdrop\": 0.1", "\"add_cross_attention\": true", "add_cross_attention"},
           Case{"\"n_inner\": null", "\"n_inner\": 0", "n_inner"},
           Case{"\"n_ctx\": 1024", "\"hidden_size\": 512", "hidden_size"},
           Case{"\"n_ctx\": 1024", "\"is_causal\": false", "is_causal"},
           Case{"\"n_ctx\": 1024", "\"is_causal\": null", "is_causal"},
           Case{"\"n_ctx\": 1024", "\"use_alibi\": true", "use_alibi"},
           Case{"\"n_ctx\": 1024", "\"never_heard_of\": false", "never_heard_of"},
           Case{"\"n_ctx\": 1024", "\"never_heard_of\": null", "never_heard_of"},
           Case{"\"n_ctx\": 1024", "\"position_embedding_type\": \"rotary\"",
                "position_embedding_type"},
           Case{"\"n_ctx\": 1024", "\"quantization_config\": {\"load_in_8bit\": true}",
                "quantization_config"},
           Case{"\"n_ctx\": 1024", "\"auto_map\": {\"AutoModel\": \"mine.Model\"}", "auto_map"},
           Case{"\"n_ctx\": 1024", "\"architectures\": [\"GPT2ForSequenceClassification\"]",
                "architectures"},
           Case{"\"n_ctx\": 1024", "\"pruned_heads\": {\"0\": [1]}", "pruned_heads"},
           Case{"\"tie_word_embeddings\": true", "\"tie_word_embeddings\": null",
                "tie_word_embeddings"},
           Case{"50257", "0", "vocab_size"},
           Case{"50257", "\"many\"", "vocab_size"},
           Case{"768", "767", "n_head"},
           Case{"768", "4e9", "n_embd"},
           Case{"768", "65537", "n_embd"},
           Case{"\"n_layer\": 12", "\"n_layer\": -12", "n_layer"},
           Case{"\"n_head\": 12", "\"n_head\": 0", "n_head"},
           Case{"\"eos_token_id\": 50256", "\"eos_token_id\": 50257", "eos_token_id"},
           Case{"\"eos_token_id\": 50256", "\"eos_token_id\": [0, 50257]", "eos_token_id"},
           Case{"1e-05", "0", "layer_norm_epsilon"},
           Case{"1e-05", "1.5", "layer_norm_epsilon"},
       }) {
    EXPECT_THAT(LoadWith(c.from, c.to),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(path_), HasSubstr(std::string("\"") + c.field + "\""))))
        << c.from << " → " << c.to;
  }
}

TEST_F(GptConfigTest, NoMessageAdvisesToRemoveAField) {
  EXPECT_THAT(LoadWith("\"n_ctx\": 1024", "\"use_alibi\": true"),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("not known for a gpt2 model"), Not(HasSubstr("remove")))));
}

TEST_F(GptConfigTest, ATextModelWithinAnotherIsNamedAsSuch) {
  EXPECT_THAT(Load(R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text"}})"),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("text_config"), HasSubstr("gemma3_text"))));
}

TEST_F(GptConfigTest, APointerOfGitLfsIsNamedAsSuch) {
  EXPECT_THAT(Load("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("git lfs pull")));
}

TEST_F(GptConfigTest, DamagedAndMissingFilesAreRefused) {
  EXPECT_THAT(Load("{\"model_type\": \"gpt2\""),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr(path_)));
  EXPECT_THAT(LoadDecoderConfig(directory_.File("none")),
              StatusIs(StatusCode::kNotFound, HasSubstr("none")));
}

}  // namespace gpt_config_test
}  // namespace submix::model
