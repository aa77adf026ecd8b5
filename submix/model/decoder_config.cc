#include "submix/model/decoder_config.h"

#include <cmath>
#include <numbers>

#include <nlohmann/json.hpp>

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/base/json_object.h"
#include "submix/model/decoder_families.h"

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

}  // namespace

base::StatusOr<DecoderConfig> LoadDecoderConfig(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const auto json, base::JsonObject::Load(path));
  SUBMIX_ASSIGN_OR_RETURN(const std::string family, json.Text("model_type"));
  if (family == "gpt2") return ReadGpt2(json);
  if (IsRotaryFamily(family)) return ReadRotaryFamily(family, json);
  return json.FieldError("model_type",
                         base::Quoted(family) +
                             " is not known; known are gpt2, llama, mistral, qwen2, qwen3, gemma2 "
                             "and gemma3_text");
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

base::Status SaveGptConfig(const DecoderConfig& config, const std::string& path) {
  SUBMIX_CHECK(config.family == "gpt2", "only GPT-2's configuration is written");
  const nlohmann::ordered_json json = {
      {"architectures", {"GPT2LMHeadModel"}},
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
      {"tie_word_embeddings", true},
  };
  return base::WriteFile(path, json.dump(2) + "\n");
}

}  // namespace submix::model
