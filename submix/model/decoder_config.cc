#include "submix/model/decoder_config.h"

#include <cmath>
#include <numbers>

#include <nlohmann/json.hpp>

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/base/json_object.h"
#include "submix/model/config_fields.h"
#include "submix/model/decoder_families.h"
#include "submix/model/end_tokens.h"

namespace submix::model {
namespace {

// Llama 3.1: short waves stay, long ones are stretched, those between are mixed.
double StretchedFrequency(const Rotary& rotary, double frequency) {
  const double wave = 2 * std::numbers::pi / frequency;
  const double turns = rotary.original_context / wave;  // within the original context
  const double stretched = frequency / rotary.factor;
  if (turns < rotary.low_frequency_factor) return stretched;
  if (turns > rotary.high_frequency_factor) return frequency;
  const double share = (turns - rotary.low_frequency_factor) /
                       (rotary.high_frequency_factor - rotary.low_frequency_factor);
  return (1 - share) * stretched + share * frequency;
}

using Json = nlohmann::ordered_json;

Json GptJson(const DecoderConfig& config) {
  Json json = {{"architectures", {"GPT2LMHeadModel"}},
               {"model_type", "gpt2"},
               {"activation_function", "gelu_new"},
               {"vocab_size", config.vocab_size},
               {"n_positions", config.context_length},
               {"n_ctx", config.context_length},
               {"n_embd", config.width},
               {"n_layer", config.layers},
               {"n_head", config.attention_heads},
               {"layer_norm_epsilon", config.norm_epsilon},
               {"bos_token_id", config.end_of_text},
               {"eos_token_id", config.end_of_text},
               {"tie_word_embeddings", config.has_tied_embeddings}};
  if (config.mlp_width > 0) json["n_inner"] = config.mlp_width;
  return json;
}

Json LlamaJson(const DecoderConfig& config) {
  SUBMIX_CHECK(config.rotary.scaling == RotaryScaling::kNone, "no rotary scaling is written");
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"hidden_act", "silu"},
          {"vocab_size", config.vocab_size},
          {"max_position_embeddings", config.context_length},
          {"hidden_size", config.width},
          {"intermediate_size", config.width_of_mlp()},
          {"num_hidden_layers", config.layers},
          {"num_attention_heads", config.attention_heads},
          {"num_key_value_heads", config.num_key_value_heads()},
          {"head_dim", config.width_of_head()},
          {"rms_norm_eps", config.norm_epsilon},
          {"rope_theta", config.rotary.base},
          {"rope_scaling", nullptr},
          {"attention_bias", config.has_attention_in_bias},
          {"mlp_bias", config.has_mlp_bias},
          {"bos_token_id", config.end_of_text},
          {"eos_token_id", config.end_of_text},
          {"tie_word_embeddings", config.has_tied_embeddings}};
}

}  // namespace

base::StatusOr<DecoderConfig> LoadDecoderConfig(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const auto fields, LoadConfigFields(path));
  SUBMIX_ASSIGN_OR_RETURN(const std::string family, fields.Text("model_type"));
  return family == "gpt2" ? ReadGpt2(fields) : ReadRotaryFamily(fields);
}

base::StatusOr<int> FirstEndToken(const base::JsonObject& fields, int vocab_size) {
  if (!fields.Has(kEndTokensField)) return 0;
  SUBMIX_ASSIGN_OR_RETURN(const auto ends, ReadTokenIds(fields, kEndTokensField, vocab_size));
  return ends.front();
}

base::StatusOr<double> NormEpsilon(const base::JsonObject& fields, std::string_view field) {
  SUBMIX_ASSIGN_OR_RETURN(const double epsilon, fields.Number(field));
  if (epsilon > 0 && epsilon < 1) return epsilon;
  return fields.FieldError(field, "expected a number between 0 and 1");
}

base::StatusOr<DecoderConfig> LoadConfigOf(const std::string& model_directory) {
  return LoadDecoderConfig(base::JoinPath(model_directory, "config.json"));
}

std::vector<double> RotaryFrequencies(const Rotary& rotary, int head_width) {
  std::vector<double> frequencies;
  for (int i = 0; i < head_width / 2; ++i) {
    const double frequency = std::pow(rotary.base, -2.0 * i / head_width);
    switch (rotary.scaling) {
      case RotaryScaling::kNone:
        frequencies.push_back(frequency);
        break;
      case RotaryScaling::kLinear:
        frequencies.push_back(frequency / rotary.factor);
        break;
      case RotaryScaling::kLlama3:
        frequencies.push_back(StretchedFrequency(rotary, frequency));
        break;
    }
  }
  return frequencies;
}

DecoderConfig LlamaOfSize(const DecoderConfig& size) {
  // Two thirds of 4 widths, since there are three matrices instead of two; whole cache lines.
  constexpr int kMultiple = 32;
  DecoderConfig config = size;
  config.family = "llama";
  config.key_value_heads = size.num_key_value_heads();
  config.head_width = size.width_of_head();
  config.mlp_width = (size.width * 8 / 3 + kMultiple - 1) / kMultiple * kMultiple;
  config.norm = Norm::kRms;
  config.has_learned_positions = false;
  config.activation = Activation::kSilu;
  config.is_gated = true;
  config.has_attention_in_bias = false;
  config.has_attention_out_bias = false;
  config.has_mlp_bias = false;
  return config;
}

std::string DecoderConfigJson(const DecoderConfig& config) {
  SUBMIX_CHECK(config.family == "gpt2" || config.family == "llama",
               "configurations of two families are written");
  return (config.family == "gpt2" ? GptJson(config) : LlamaJson(config)).dump(2) + "\n";
}

std::string ConfigOfFloats(const std::string& config_json) {
  Json config = Json::parse(config_json);
  bool names_type = false;
  for (const char* const field : {"torch_dtype", "dtype"}) {
    if (!config.contains(field)) continue;
    config[field] = "float32";
    names_type = true;
  }
  return names_type ? config.dump(2) + "\n" : config_json;
}

}  // namespace submix::model
