#include <cmath>
#include <utility>

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
  return {{"model_type", family},
          {"vocab_size", 100},
          {"hidden_size", 64},
          {"intermediate_size", 96},
          {"num_hidden_layers", 4},
          {"num_attention_heads", 8},
          {"max_position_embeddings", 128},
          {"num_key_value_heads", 8},
          {"head_dim", 8},
          {"eos_token_id", 2}};
}

DecoderConfig Loaded(const json& config) { return Load(config).value(); }

TEST(RotaryFamiliesTest, FamiliesDifferInTheirLayers) {
  const DecoderConfig llama = Loaded(Config("llama"));
  EXPECT_EQ(llama.norm, Norm::kRms);
  EXPECT_EQ(llama.activation, Activation::kSilu);
  EXPECT_TRUE(llama.is_gated);
  EXPECT_FALSE(llama.has_tied_embeddings || llama.has_attention_in_bias || llama.has_mlp_bias ||
               llama.has_learned_positions || llama.has_query_key_norms);
  const DecoderConfig qwen2 = Loaded(Config("qwen2"));
  EXPECT_TRUE(qwen2.has_attention_in_bias);
  EXPECT_FALSE(qwen2.has_attention_out_bias);
  const DecoderConfig qwen3 = Loaded(Config("qwen3"));
  EXPECT_TRUE(qwen3.has_query_key_norms);
  EXPECT_FALSE(qwen3.has_attention_in_bias);
  const DecoderConfig gemma = Loaded(Config("gemma3_text"));
  EXPECT_EQ(gemma.norm, Norm::kRmsOnePlus);
  EXPECT_EQ(gemma.activation, Activation::kGeluTanh);
  EXPECT_EQ(gemma.embedding_scale, 8);
  EXPECT_TRUE(gemma.has_tied_embeddings && gemma.has_norms_after_blocks &&
              gemma.has_query_key_norms);
}

// A file that says nothing but its family.
TEST(RotaryFamiliesTest, AbsentFieldsAreHuggingFacesDefaults) {
  struct Defaults {
    const char* family;
    int vocab_size, context_length, width, mlp_width, layers, heads, key_value_heads, head_width;
    double base;
    int window;  // of the first layer
    bool is_tied;
    int end_of_text;
  };
  for (const Defaults& d : {
           Defaults{"llama", 32000, 2048, 4096, 11008, 32, 32, 32, 128, 1e4, 0, false, 2},
           Defaults{"mistral", 32000, 131072, 4096, 14336, 32, 32, 8, 128, 1e4, 4096, false, 2},
           Defaults{"qwen2", 151936, 32768, 4096, 22016, 32, 32, 32, 128, 1e4, 0, false, 0},
           Defaults{"qwen3", 151936, 32768, 4096, 22016, 32, 32, 32, 128, 1e4, 0, false, 0},
           Defaults{"gemma2", 256000, 8192, 2304, 9216, 26, 8, 4, 256, 1e4, 4096, true, 1},
           Defaults{"gemma3_text", 262208, 131072, 2304, 9216, 26, 8, 4, 256, 1e6, 4096, true, 1},
       }) {
    const DecoderConfig read = Loaded({{"model_type", d.family}});
    EXPECT_EQ(read.vocab_size, d.vocab_size) << d.family;
    EXPECT_EQ(read.context_length, d.context_length) << d.family;
    EXPECT_EQ(read.width, d.width) << d.family;
    EXPECT_EQ(read.width_of_mlp(), d.mlp_width) << d.family;
    EXPECT_EQ(read.layers, d.layers) << d.family;
    EXPECT_EQ(read.attention_heads, d.heads) << d.family;
    EXPECT_EQ(read.num_key_value_heads(), d.key_value_heads) << d.family;
    EXPECT_EQ(read.width_of_head(), d.head_width) << d.family;
    EXPECT_EQ(read.norm_epsilon, 1e-6) << d.family;
    EXPECT_EQ(read.rotary, Rotary{.base = d.base}) << d.family;
    EXPECT_EQ(read.windowed_rotary, Rotary{}) << d.family;
    EXPECT_EQ(read.window, d.window) << d.family;
    EXPECT_EQ(read.has_tied_embeddings, d.is_tied) << d.family;
    EXPECT_EQ(read.end_of_text, d.end_of_text) << d.family;
  }
  const DecoderConfig gemma2 = Loaded({{"model_type", "gemma2"}});
  EXPECT_EQ(gemma2.attention_soft_cap, 50);
  EXPECT_EQ(gemma2.logit_soft_cap, 30);
  EXPECT_EQ(gemma2.attention_scale, 1.0 / 16);
  const DecoderConfig gemma3 = Loaded({{"model_type", "gemma3_text"}});
  EXPECT_EQ(gemma3.attention_soft_cap + gemma3.logit_soft_cap, 0);
  EXPECT_TRUE(gemma3.is_windowed(4) && !gemma3.is_windowed(5) && gemma3.is_windowed(6));
}

TEST(RotaryFamiliesTest, NullIsNotAbsent) {
  const auto with_null = [](const char* family, const char* field) {
    json config = {{"model_type", family}};
    config[field] = nullptr;
    return Load(config);
  };
  EXPECT_THAT(with_null("mistral", "sliding_window")->windowed_layers, IsEmpty());
  EXPECT_EQ(with_null("mistral", "num_key_value_heads")->num_key_value_heads(), 32);
  EXPECT_EQ(with_null("gemma2", "attn_logit_softcapping")->attention_soft_cap, 0);
  EXPECT_EQ(with_null("gemma2", "final_logit_softcapping")->logit_soft_cap, 0);
  EXPECT_EQ(*with_null("qwen2", "layer_types"), Loaded({{"model_type", "qwen2"}}));
  EXPECT_EQ(*with_null("llama", "rope_parameters"), Loaded({{"model_type", "llama"}}));
  // No class can use these.
  for (const auto& [family, field] :
       {std::pair{"gemma2", "sliding_window"}, std::pair{"gemma2", "head_dim"},
        std::pair{"gemma3_text", "num_key_value_heads"}, std::pair{"llama", "rope_theta"},
        std::pair{"llama", "rms_norm_eps"}, std::pair{"llama", "tie_word_embeddings"},
        std::pair{"qwen3", "head_dim"}, std::pair{"llama", "hidden_act"},
        std::pair{"llama", "is_causal"}}) {
    EXPECT_THAT(with_null(family, field), StatusIs(StatusCode::kInvalidArgument, HasSubstr(field)))
        << family;
  }
}

TEST(RotaryFamiliesTest, BiasesThatAFamilyAlwaysOrNeverHasAreNotSwitched) {
  for (const bool bias : {false, true}) {
    json config = Config("qwen2");
    config["attention_bias"] = bias;
    EXPECT_EQ(Loaded(config), Loaded(Config("qwen2")));
  }
  json mistral = Config("mistral");
  mistral["attention_bias"] = true;
  EXPECT_THAT(Load(mistral), StatusIs(StatusCode::kInvalidArgument, HasSubstr("attention_bias")));
  for (const char* family : {"llama", "qwen3", "gemma2", "gemma3_text"}) {
    json config = Config(family);
    config["attention_bias"] = true;
    EXPECT_TRUE(Loaded(config).has_attention_in_bias && Loaded(config).has_attention_out_bias);
  }
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
    return Loaded(config).windowed_layers;
  };
  const json listed = {"full_attention", "sliding_attention", "full_attention", "full_attention"};
  EXPECT_THAT(windows("mistral", json::object()), ElementsAre(true, true, true, true));
  EXPECT_THAT(windows("mistral", {{"sliding_window", nullptr}}), IsEmpty());
  EXPECT_THAT(windows("mistral", {{"layer_types", listed}}),
              ElementsAre(false, true, false, false));
  EXPECT_THAT(windows("gemma2", json::object()), ElementsAre(true, false, true, false));
  EXPECT_THAT(windows("gemma3_text", {{"sliding_window_pattern", 3}}),
              ElementsAre(true, true, false, true));
  EXPECT_THAT(windows("qwen2", json::object()), IsEmpty());
  EXPECT_THAT(windows("qwen2", {{"use_sliding_window", true}, {"max_window_layers", 3}}),
              ElementsAre(false, false, false, true));
  EXPECT_THAT(windows("qwen2", {{"use_sliding_window", true}}), IsEmpty());  // from layer 28 on
  EXPECT_THAT(windows("qwen3", {{"use_sliding_window", true}, {"layer_types", listed}}),
              ElementsAre(false, true, false, false));
  EXPECT_THAT(windows("gemma3_text", {{"layer_types", listed}, {"sliding_window_pattern", 3}}),
              ElementsAre(false, true, false, false));
  // Its classes do not read this one.
  EXPECT_THAT(windows("gemma3_text", {{"_sliding_window_pattern", 2}}),
              ElementsAre(true, true, true, true));
}

TEST(RotaryFamiliesTest, ALlamaHasNoWindows) {
  json config = Config("llama");
  config["layer_types"] = json(4, "full_attention");
  EXPECT_EQ(Loaded(config), Loaded(Config("llama")));
  config["layer_types"] = json(4, "sliding_attention");
  EXPECT_THAT(Load(config), StatusIs(StatusCode::kInvalidArgument, HasSubstr("layer_types")));
}

TEST(RotaryFamiliesTest, AMinistralIsAMistral) {
  for (const json& types : {json(4, "sliding_attention"), json(nullptr)}) {
    json config = Config("mistral");
    config["layer_types"] = types;
    DecoderConfig mistral = Loaded(config);
    config["model_type"] = "ministral";
    mistral.family = "ministral";
    EXPECT_EQ(Loaded(config), mistral);
  }
}

constexpr Rotary kLinear = {.base = 5e5, .scaling = RotaryScaling::kLinear, .factor = 4};
constexpr Rotary kLlama3 = {.base = 5e5,
                            .scaling = RotaryScaling::kLlama3,
                            .factor = 8,
                            .low_frequency_factor = 1,
                            .high_frequency_factor = 4,
                            .original_context = 32};

TEST(RotaryFamiliesTest, RotaryPositionsAreReadAsTransformers4And5WriteThem) {
  const json linear = {{"rope_type", "linear"}, {"factor", 4.0}};
  json llama3 = {{"rope_type", "llama3"},
                 {"factor", 8.0},
                 {"low_freq_factor", 1.0},
                 {"high_freq_factor", 4.0},
                 {"original_max_position_embeddings", 32}};
  const auto with_base = [](json object) {
    object["rope_theta"] = 5e5;
    return object;
  };
  struct Case {
    json fields;
    Rotary read;
  };
  json of_context = llama3;
  of_context.erase("original_max_position_embeddings");
  Rotary of_context_read = kLlama3;
  of_context_read.original_context = 128;
  for (const Case& c : {
           Case{json::object(), {}},
           Case{{{"rope_theta", 5e5}, {"rope_scaling", nullptr}}, {.base = 5e5}},
           Case{{{"rope_theta", 5e5}, {"rope_scaling", linear}}, kLinear},
           Case{{{"rope_theta", 5e5}, {"rope_scaling", {{"type", "linear"}, {"factor", 4}}}},
                kLinear},
           Case{{{"rope_theta", 5e5}, {"rope_scaling", llama3}}, kLlama3},
           Case{{{"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 5e5}}}},
                {.base = 5e5}},
           Case{{{"rope_parameters", {{"rope_theta", 5e5}}}}, {.base = 5e5}},
           Case{{{"rope_parameters", with_base(linear)}}, kLinear},
           Case{{{"rope_parameters", with_base(llama3)}}, kLlama3},
           Case{{{"rope_parameters", with_base(of_context)}}, of_context_read},
           Case{{{"rope_parameters", linear}, {"rope_theta", 5e5}}, kLinear},
           Case{{{"rope_parameters", with_base(linear)},
                 {"rope_theta", 5e5},
                 {"rope_scaling", linear}},
                kLinear},
           Case{{{"rope_parameters", json::object()}, {"rope_theta", 5e5}}, {.base = 5e5}},
       }) {
    json config = Config("llama");
    config.update(c.fields);
    SUBMIX_ASSERT_OK_AND_ASSIGN(const DecoderConfig read, Load(config));
    EXPECT_EQ(read.rotary, c.read) << c.fields;
    EXPECT_EQ(read.windowed_rotary, c.read) << c.fields;
  }
}

TEST(RotaryFamiliesTest, AGemma3HasRotaryPositionsForTwoKindsOfLayers) {
  const json linear = {{"rope_type", "linear"}, {"factor", 4.0}};
  const json far = {{"rope_type", "linear"}, {"factor", 4.0}, {"rope_theta", 5e5}};
  const json near = {{"rope_type", "default"}, {"rope_theta", 2e4}};
  struct Case {
    json fields;
    Rotary everywhere;
    Rotary windowed;
  };
  for (const Case& c : {
           Case{{{"rope_theta", 5e5}, {"rope_local_base_freq", 2e4}}, {.base = 5e5}, {.base = 2e4}},
           Case{{{"rope_theta", 5e5}, {"rope_scaling", linear}}, kLinear, {}},
           Case{{{"rope_parameters", {{"full_attention", far}, {"sliding_attention", near}}}},
                kLinear,
                {.base = 2e4}},
           Case{{{"rope_parameters", {{"full_attention", far}}}}, kLinear, {}},
           Case{{{"rope_parameters", {{"sliding_attention", far}, {"full_attention", nullptr}}}},
                {.base = 1e6},
                kLinear},
       }) {
    json config = Config("gemma3_text");
    config.update(c.fields);
    SUBMIX_ASSERT_OK_AND_ASSIGN(const DecoderConfig read, Load(config));
    EXPECT_EQ(read.rotary, c.everywhere) << c.fields;
    EXPECT_EQ(read.windowed_rotary, c.windowed) << c.fields;
  }
}

TEST(RotaryFamiliesTest, RotaryPositionsThatDependOnTheVersionAreRefused) {
  const json plain = {{"rope_type", "default"}, {"rope_theta", 5e5}};
  struct Case {
    const char* family;
    json fields;
    const char* reason;
  };
  for (const Case& c : {
           Case{"llama", {{"rope_theta", 1e4}, {"rope_parameters", plain}}, "rope_theta"},
           Case{"llama",
                {{"rope_scaling", {{"type", "linear"}, {"factor", 2.0}}},
                 {"rope_parameters", plain}},
                "rope_scaling"},
           Case{"llama",
                {{"rope_scaling", {{"type", "linear"}, {"rope_type", "llama3"}, {"factor", 2.0}}}},
                "differs from \"rope_type\""},
           Case{"llama", {{"rope_parameters", {{"full_attention", plain}}}}, "full_attention"},
           Case{"qwen3", {{"rope_parameters", {{"full_attention", plain}}}}, "full_attention"},
           Case{"gemma3_text", {{"rope_parameters", plain}}, "expected only \"full_attention\""},
           Case{
               "gemma3_text",
               {{"rope_local_base_freq", 1e4}, {"rope_parameters", {{"sliding_attention", plain}}}},
               "rope_parameters.sliding_attention.rope_theta"},
       }) {
    json config = Config(c.family);
    config.update(c.fields);
    EXPECT_THAT(Load(config), StatusIs(StatusCode::kInvalidArgument, HasSubstr(c.reason)))
        << c.fields;
  }
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
        Refused{"llama", "rope_parameters", yarn, "\"yarn\" is not supported"},
        Refused{"llama", "rope_scaling", {{"type", "linear"}, {"factor", 0.5}}, "from 1 to 1e6"},
        Refused{"llama", "rope_scaling", {{"type", "linear"}}, "factor"},
        Refused{"llama", "rope_scaling", {{"factor", 2.0}}, "factor"},
        Refused{"llama", "rope_parameters", {{"partial_rotary_factor", 0.5}}, "whole heads"},
        Refused{"llama", "rope_parameters", {{"mscale", 0.5}}, "mscale"},
        Refused{"llama", "rope_scaling", reversed, "low_freq_factor"},
        Refused{"llama", "hidden_act", "gelu", "expected \"silu\" or \"swish\""},
        Refused{"gemma2", "hidden_activation", "gelu", "expected \"gelu_pytorch_tanh\""},
        Refused{"gemma2", "query_pre_attn_scalar", 0, "query_pre_attn_scalar"},
        Refused{"gemma2", "use_bidirectional_attention", true, "use_bidirectional_attention"},
        Refused{"gemma3_text", "attn_logit_softcapping", 50.0, "attn_logit_softcapping"},
        Refused{"llama", "architectures", {"LlamaForSequenceClassification"}, "LlamaForCausalLM"},
        Refused{"llama", "sliding_window", 16, "sliding_window"},
        Refused{"qwen3", "layer_types", json(4, "sliding_attention"), "use_sliding_window"},
        Refused{"gemma2", "attn_logit_softcapping", -1, "attn_logit_softcapping"},
        Refused{"llama", "num_key_value_heads", 3, "does not divide"},
        Refused{"llama", "num_key_value_heads", 16, "num_key_value_heads"},
        Refused{"llama", "num_attention_heads", 7, "num_key_value_heads"},
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
  EXPECT_THAT(Load({{"model_type", "llama"}, {"hidden_size", 100}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not divide \"hidden_size\"")));
}

}  // namespace rotary_families_test
}  // namespace submix::model
