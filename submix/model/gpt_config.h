// The shape of a GPT-2-architecture model: Hugging Face's config.json.
#pragma once

#include <string>

#include "submix/base/status.h"

namespace submix::model {

struct GptConfig {
  int vocab_size = 0;       // V
  int context_length = 0;   // n_positions
  int width = 0;            // C, n_embd
  int layers = 0;           // n_layer
  int attention_heads = 0;  // n_head; divides width
  double norm_epsilon = 1e-5;
  int end_of_text = 0;  // eos_token_id
  bool operator==(const GptConfig&) const = default;
};

// Errors: kNotFound, kInvalidArgument (not JSON; a field missing or out of range; model_type not
// "gpt2"; an activation other than gelu_new / gelu_pytorch_tanh; untied embeddings), naming file
// and field.
base::StatusOr<GptConfig> LoadGptConfig(const std::string& path);
// As Hugging Face's GPT2LMHeadModel reads it.
base::Status SaveGptConfig(const GptConfig& config, const std::string& path);

}  // namespace submix::model
