#include "submix/model/decoder_families.h"

namespace submix::model {
namespace {

using base::JsonObject;
using base::Quoted;

// What this engine computes. Absent fields mean Hugging Face's defaults, which are these.
base::Status CheckArchitecture(const JsonObject& json) {
  std::string activation = "gelu_new";
  SUBMIX_RETURN_IF_ERROR(json.ReadIfPresent("activation_function", activation));
  if (activation != "gelu_new" && activation != "gelu_pytorch_tanh") {
    return json.FieldError(
        "activation_function",
        "expected \"gelu_new\" or \"gelu_pytorch_tanh\", found " + Quoted(activation));
  }
  for (const char* field : {"tie_word_embeddings", "scale_attn_weights"}) {
    bool is_on = true;
    SUBMIX_RETURN_IF_ERROR(json.ReadIfPresent(field, is_on));
    if (!is_on) return json.FieldError(field, "only true is supported");
  }
  for (const char* field : {"scale_attn_by_inverse_layer_idx", "add_cross_attention"}) {
    if (!json.IsOff(field)) return json.FieldError(field, "only false is supported");
  }
  return base::OkStatus();
}

base::StatusOr<int> ContextLength(const JsonObject& json) {
  const char* field = json.Has("n_positions") ? "n_positions" : "n_ctx";
  if (!json.Has(field)) field = "n_positions";
  SUBMIX_ASSIGN_OR_RETURN(const int context_length, json.Int(field, 1, kMaxContext));
  if (json.Has("n_ctx")) {
    SUBMIX_ASSIGN_OR_RETURN(const int n_ctx, json.Int("n_ctx", 1, kMaxContext));
    if (n_ctx != context_length) {
      return json.FieldError("n_ctx", "differs from \"n_positions\"; give one of them");
    }
  }
  return context_length;
}

base::Status CheckShape(const JsonObject& json, const DecoderConfig& config) {
  if (config.width % config.attention_heads != 0) {
    return json.FieldError("n_head", "does not divide \"n_embd\"");
  }
  if (json.Has("n_inner")) {
    SUBMIX_ASSIGN_OR_RETURN(const int inner, json.Int("n_inner", 1, 4 * kMaxWidth));
    if (inner != 4 * config.width) {
      return json.FieldError("n_inner", "expected null or 4 times \"n_embd\"");
    }
  }
  return base::OkStatus();
}

}  // namespace

base::StatusOr<DecoderConfig> ReadGpt2(const JsonObject& json) {
  SUBMIX_RETURN_IF_ERROR(CheckArchitecture(json));
  DecoderConfig config;
  SUBMIX_ASSIGN_OR_RETURN(config.vocab_size, json.Int("vocab_size", 1, kMaxVocabulary));
  SUBMIX_ASSIGN_OR_RETURN(config.context_length, ContextLength(json));
  SUBMIX_ASSIGN_OR_RETURN(config.width, json.Int("n_embd", 1, kMaxWidth));
  SUBMIX_ASSIGN_OR_RETURN(config.layers, json.Int("n_layer", 1, kMaxLayers));
  SUBMIX_ASSIGN_OR_RETURN(config.attention_heads, json.Int("n_head", 1, config.width));
  SUBMIX_ASSIGN_OR_RETURN(config.end_of_text, json.Int("eos_token_id", 0, config.vocab_size - 1));
  SUBMIX_RETURN_IF_ERROR(json.ReadIfPresent("layer_norm_epsilon", config.norm_epsilon));
  if (!(config.norm_epsilon > 0 && config.norm_epsilon < 1)) {
    return json.FieldError("layer_norm_epsilon", "expected a number between 0 and 1");
  }
  SUBMIX_RETURN_IF_ERROR(CheckShape(json, config));
  return config;
}

}  // namespace submix::model
