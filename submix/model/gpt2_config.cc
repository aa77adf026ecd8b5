#include "submix/model/decoder_families.h"

namespace submix::model {

base::StatusOr<DecoderConfig> ReadGpt2(const base::JsonObject& fields) {
  DecoderConfig config;
  SUBMIX_ASSIGN_OR_RETURN(config.vocab_size, fields.Int("vocab_size", 1, kMaxVocabulary));
  SUBMIX_ASSIGN_OR_RETURN(config.context_length, fields.Int("n_positions", 1, kMaxContext));
  SUBMIX_ASSIGN_OR_RETURN(config.width, fields.Int("n_embd", 1, kMaxWidth));
  SUBMIX_ASSIGN_OR_RETURN(config.layers, fields.Int("n_layer", 1, kMaxLayers));
  SUBMIX_ASSIGN_OR_RETURN(config.attention_heads, fields.Int("n_head", 1, config.width));
  if (config.width % config.attention_heads != 0) {
    return fields.FieldError("n_head", "does not divide \"n_embd\"");
  }
  if (fields.Has("n_inner")) {
    SUBMIX_ASSIGN_OR_RETURN(const int inner, fields.Int("n_inner", 1, 4 * kMaxWidth));
    if (inner != 4 * config.width)
      config.mlp_width = inner;  // equal models have equal descriptions
  }
  SUBMIX_ASSIGN_OR_RETURN(config.end_of_text, FirstEndToken(fields, config.vocab_size));
  SUBMIX_ASSIGN_OR_RETURN(config.norm_epsilon, NormEpsilon(fields, "layer_norm_epsilon"));
  SUBMIX_ASSIGN_OR_RETURN(config.has_tied_embeddings, fields.Boolean("tie_word_embeddings"));
  return config;
}

}  // namespace submix::model
