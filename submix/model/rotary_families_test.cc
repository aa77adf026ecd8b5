#include <cmath>

#include <nlohmann/json.hpp>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/model/decoder_config.h"

namespace submix::model {
namespace rotary_families_test {

using base::StatusCode;
using base::StatusIs;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

base::StatusOr<DecoderConfig> Load(const json& config) {
  const base::TemporaryDirectory directory;
  return LoadDecoderConfig(directory.Write("config.json", config.dump()));
}

json Config(const char* family) {
  json config = {
      {"model_type", family},           {"vocab_size", 100},      {"hidden_size", 64},
      {"intermediate_size", 96},        {"num_hidden_layers", 4}, {"num_attention_heads", 8},
      {"max_position_embeddings", 128}, {"eos_token_id", 2}};
  if (std::string(family).starts_with("gemma")) config["query_pre_attn_scalar"] = 16;
  return config;
}

TEST(RotaryFamiliesTest, AbsentFieldsAreHuggingFacesDefaults) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const DecoderConfig llama, Load(Config("llama")));
  EXPECT_EQ(llama.num_key_value_heads(), 8);
  EXPECT_EQ(llama.width_of_head(), 8);
  EXPECT_EQ(llama.norm, Norm::kRms);
  EXPECT_EQ(llama.norm_epsilon, 1e-6);
  EXPECT_EQ(llama.rotary.base, 1e4);
  EXPECT_EQ(llama.activation, Activation::kSilu);
  EXPECT_TRUE(llama.is_gated);
  EXPECT_FALSE(llama.has_tied_embeddings || llama.has_attention_in_bias || llama.has_mlp_bias ||
               llama.has_learned_positions || llama.has_query_key_norms);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const DecoderConfig qwen2, Load(Config("qwen2")));
  EXPECT_TRUE(qwen2.has_attention_in_bias);
  EXPECT_FALSE(qwen2.has_attention_out_bias);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const DecoderConfig qwen3, Load(Config("qwen3")));
  EXPECT_TRUE(qwen3.has_query_key_norms);
  EXPECT_FALSE(qwen3.has_attention_in_bias);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const DecoderConfig gemma, Load(Config("gemma3_text")));
  EXPECT_EQ(gemma.norm, Norm::kRmsOnePlus);
  EXPECT_EQ(gemma.activation, Activation::kGeluTanh);
  EXPECT_EQ(gemma.rotary.base, 1e6);
  EXPECT_EQ(gemma.windowed_rotary.base, 1e4);
  EXPECT_EQ(gemma.embedding_scale, 8);
  EXPECT_EQ(gemma.attention_scale, 0.25);
  EXPECT_TRUE(gemma.has_tied_embeddings && gemma.has_norms_after_blocks &&
              gemma.has_query_key_norms);
}

TEST(RotaryFamiliesTest, ALlamaOfASizeIsReadAsItIsWritten) {
  const DecoderConfig llama = LlamaOfSize({.vocab_size = 100,
                                           .context_length = 64,
                                           .width = 96,
                                           .layers = 2,
                                           .attention_heads = 6,
                                           .key_value_heads = 2,
                                           .end_of_text = 99});
  EXPECT_EQ(llama.mlp_width, 256);
  const base::TemporaryDirectory directory;
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const DecoderConfig read,
      LoadDecoderConfig(directory.Write("config.json", DecoderConfigJson(llama))));
  EXPECT_EQ(read, llama);
}

TEST(RotaryFamiliesTest, WindowsAreThoseOfTheFamily) {
  const auto windows = [](const char* family, const json& fields) {
    json config = Config(family);
    config["sliding_window"] = 16;
    config.update(fields);
    return Load(config).value().windowed_layers;
  };
  EXPECT_THAT(windows("mistral", json::object()), ElementsAre(true, true, true, true));
  EXPECT_THAT(windows("mistral", {{"sliding_window", nullptr}}), IsEmpty());
  EXPECT_THAT(windows("gemma2", json::object()), ElementsAre(true, false, true, false));
  EXPECT_THAT(windows("gemma3_text", {{"sliding_window_pattern", 3}}),
              ElementsAre(true, true, false, true));
  EXPECT_THAT(windows("qwen2", json::object()), IsEmpty());
  EXPECT_THAT(windows("qwen2", {{"use_sliding_window", true}, {"max_window_layers", 3}}),
              ElementsAre(false, false, false, true));
  EXPECT_THAT(
      windows("qwen3",
              {{"layer_types",
                {"full_attention", "sliding_attention", "full_attention", "full_attention"}}}),
      ElementsAre(false, true, false, false));
}

// Waves of a pair within the original context of 32 tokens: 1 and fewer are stretched eightfold, 4
// and more stay.
TEST(RotaryFamiliesTest, Llama3ScalingStretchesLongWaves) {
  json config = Config("llama");
  config["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", 8.0},
                            {"low_freq_factor", 1.0},
                            {"high_freq_factor", 4.0},
                            {"original_max_position_embeddings", 32}};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const DecoderConfig llama, Load(config));
  const double between = 0.1 * 32 / (2 * M_PI);  // no whole turn: stretched
  EXPECT_LT(between, 1);
  const double mixed = 0.5 * 32 / (2 * M_PI);
  ASSERT_GT(mixed, 1);
  const double share = (mixed - 1) / 3;
  Rotary rotary = llama.rotary;
  rotary.base = 4;  // frequencies 1, 1/2, 1/4, 1/8
  EXPECT_THAT(
      RotaryFrequencies(rotary, 4),
      ElementsAre(DoubleNear(1, 1e-12), DoubleNear((1 - share) * 0.5 / 8 + share * 0.5, 1e-12)));
  rotary.base = 1e4;
  EXPECT_THAT(RotaryFrequencies(rotary, 4), ElementsAre(1, DoubleNear(0.01 / 8, 1e-12)));
  rotary.scaling = RotaryScaling::kLinear;
  EXPECT_THAT(RotaryFrequencies(rotary, 4), ElementsAre(0.125, DoubleNear(0.01 / 8, 1e-12)));
}

TEST(RotaryFamiliesTest, EndsMayBeAList) {
  json config = Config("llama");
  config["eos_token_id"] = {7, 8};
  EXPECT_EQ(Load(config).value().end_of_text, 7);
}

TEST(RotaryFamiliesTest, WhatIsNotComputedIsRefusedByItsField) {
  struct Refused {
    const char* family;
    const char* field;
    json value;
    const char* reason;
  };
  const json yarn = {{"rope_type", "yarn"}, {"factor", 4.0}};
  const json reversed = {{"type", "llama3"},
                         {"factor", 8.0},
                         {"low_freq_factor", 4.0},
                         {"high_freq_factor", 1.0},
                         {"original_max_position_embeddings", 32}};
  for (const Refused& refused :
       {Refused{"llama", "rope_scaling", yarn, "\"yarn\" is not supported"},
        Refused{"llama", "rope_scaling", {{"type", "linear"}, {"factor", 0.5}}, "from 1 to 1e6"},
        Refused{"llama", "rope_scaling", reversed, "low_freq_factor"},
        Refused{"llama", "hidden_act", "gelu", "expected \"silu\""},
        Refused{"gemma2", "hidden_activation", "gelu", "expected \"gelu_pytorch_tanh\""},
        Refused{"gemma2", "query_pre_attn_scalar", nullptr, "query_pre_attn_scalar"},
        Refused{"gemma2", "attn_logit_softcapping", -1, "attn_logit_softcapping"},
        Refused{"llama", "num_key_value_heads", 3, "does not divide"},
        Refused{"llama", "num_key_value_heads", 16, "num_key_value_heads"},
        Refused{"llama", "num_attention_heads", 7, "does not divide \"hidden_size\""},
        Refused{"llama", "head_dim", 7, "even width"},
        Refused{"llama", "head_dim", 65536, "too wide"},
        Refused{"llama", "rope_theta", 0, "rope_theta"},
        Refused{"llama", "rms_norm_eps", 0, "rms_norm_eps"},
        Refused{"llama", "eos_token_id", 100, "eos_token_id"},
        Refused{"llama", "eos_token_id", json::array(), "eos_token_id"},
        Refused{"llama", "rope_interleaved", true, "rope_interleaved"},
        Refused{"llama", "partial_rotary_factor", 0.5, "partial_rotary_factor"},
        Refused{"llama", "quantization_config", {{"bits", 4}}, "quantization_config"},
        Refused{"mistral", "num_local_experts", 8, "num_local_experts"},
        Refused{"mistral", "sliding_window", 0, "sliding_window"},
        Refused{"qwen3", "layer_types", {"full_attention"}, "one for each of 4 layers"},
        Refused{"qwen3", "layer_types", {"a", "b", "c", "d"}, "\"a\" is not supported"},
        Refused{"phi3", "vocab_size", 100, "\"phi3\" is not known"}}) {
    json config = Config(refused.family);
    config[refused.field] = refused.value;
    EXPECT_THAT(Load(config), StatusIs(StatusCode::kInvalidArgument,
                                       AllOf(HasSubstr("config.json"), HasSubstr(refused.reason))))
        << refused.field;
  }
  for (const char* field : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
                            "num_attention_heads", "max_position_embeddings", "eos_token_id"}) {
    json config = Config("llama");
    config.erase(field);
    EXPECT_THAT(Load(config), StatusIs(StatusCode::kInvalidArgument, HasSubstr(field)));
  }
}

}  // namespace rotary_families_test
}  // namespace submix::model
