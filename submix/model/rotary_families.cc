// Families with rotary positions and root-mean-square norms, which differ in a few fields each.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "submix/model/decoder_families.h"

namespace submix::model {
namespace {

using base::JsonObject;
using base::Quoted;
using base::Status;
using base::StatusOr;

class FamilyReader {
 public:
  FamilyReader(const std::string& family, const JsonObject& fields)
      : fields_(fields),
        is_gemma_(family.starts_with("gemma")),
        is_qwen_(family.starts_with("qwen")),
        is_mistral_(family == "mistral" || family == "ministral") {
    config_.family = family;
  }

  StatusOr<DecoderConfig> Read() {
    SUBMIX_RETURN_IF_ERROR(ReadShape());
    SUBMIX_RETURN_IF_ERROR(ReadHeads());
    SUBMIX_RETURN_IF_ERROR(ReadLayer());
    config_.has_learned_positions = false;
    SUBMIX_ASSIGN_OR_RETURN(const RotaryPositions positions, ReadRotaryPositions(fields_, config_));
    config_.rotary = positions.everywhere;
    config_.windowed_rotary = positions.windowed;
    SUBMIX_RETURN_IF_ERROR(ReadWindows());
    if (is_gemma_) SUBMIX_RETURN_IF_ERROR(ReadGemma());
    return config_;
  }

 private:
  bool is(std::string_view family) const { return config_.family == family; }

  Status ReadShape() {
    SUBMIX_ASSIGN_OR_RETURN(config_.vocab_size, fields_.Int("vocab_size", 1, kMaxVocabulary));
    SUBMIX_ASSIGN_OR_RETURN(config_.context_length,
                            fields_.Int("max_position_embeddings", 1, kMaxContext));
    SUBMIX_ASSIGN_OR_RETURN(config_.width, fields_.Int("hidden_size", 1, kMaxWidth));
    SUBMIX_ASSIGN_OR_RETURN(config_.layers, fields_.Int("num_hidden_layers", 1, kMaxLayers));
    SUBMIX_ASSIGN_OR_RETURN(config_.mlp_width, fields_.Int("intermediate_size", 1, 4 * kMaxWidth));
    SUBMIX_ASSIGN_OR_RETURN(config_.end_of_text, FirstEndToken(fields_, config_.vocab_size));
    return base::OkStatus();
  }

  Status ReadHeads() {
    SUBMIX_ASSIGN_OR_RETURN(config_.attention_heads,
                            fields_.Int("num_attention_heads", 1, config_.width));
    config_.key_value_heads = config_.attention_heads;
    if (fields_.Has("num_key_value_heads")) {
      SUBMIX_ASSIGN_OR_RETURN(config_.key_value_heads,
                              fields_.Int("num_key_value_heads", 1, config_.attention_heads));
    }
    if (config_.attention_heads % config_.key_value_heads != 0) {
      return fields_.FieldError("num_key_value_heads", "does not divide \"num_attention_heads\"");
    }
    if (fields_.Has("head_dim")) {
      SUBMIX_ASSIGN_OR_RETURN(config_.head_width, fields_.Int("head_dim", 2, kMaxWidth));
    } else if (config_.width % config_.attention_heads != 0) {
      return fields_.FieldError("num_attention_heads", "does not divide \"hidden_size\"");
    } else {
      config_.head_width = config_.width / config_.attention_heads;
    }
    if (config_.head_width % 2 != 0) {
      return fields_.FieldError("head_dim", "rotary positions need an even width of a head");
    }
    if (config_.attention_heads > 4 * kMaxWidth / config_.head_width) {
      return fields_.FieldError("head_dim", "too wide for \"num_attention_heads\"");
    }
    return base::OkStatus();
  }

  Status ReadLayer() {
    config_.norm = is_gemma_ ? Norm::kRmsOnePlus : Norm::kRms;
    SUBMIX_ASSIGN_OR_RETURN(config_.norm_epsilon, NormEpsilon(fields_, "rms_norm_eps"));
    config_.has_query_key_norms = is("qwen3") || is("gemma3_text");
    config_.is_gated = true;
    config_.activation = is_gemma_ ? Activation::kGeluTanh : Activation::kSilu;
    config_.has_attention_in_bias = is("qwen2");
    config_.has_attention_out_bias = false;
    if (!is("qwen2") && !is_mistral_) {
      SUBMIX_ASSIGN_OR_RETURN(config_.has_attention_in_bias, fields_.Boolean("attention_bias"));
      config_.has_attention_out_bias = config_.has_attention_in_bias;
    }
    config_.has_mlp_bias = false;
    if (is("llama")) {
      SUBMIX_ASSIGN_OR_RETURN(config_.has_mlp_bias, fields_.Boolean("mlp_bias"));
    }
    SUBMIX_ASSIGN_OR_RETURN(config_.has_tied_embeddings, fields_.Boolean("tie_word_embeddings"));
    return base::OkStatus();
  }

  Status ReadWindows() {
    bool has_window = fields_.Has("sliding_window");
    if (is_qwen_) {
      SUBMIX_ASSIGN_OR_RETURN(const bool uses_window, fields_.Boolean("use_sliding_window"));
      has_window = has_window && uses_window;
    }
    SUBMIX_ASSIGN_OR_RETURN(std::vector<bool> windowed, WindowsOfFamily(has_window));
    if (fields_.Has("layer_types")) {
      SUBMIX_ASSIGN_OR_RETURN(std::vector<bool> listed, ListedWindows());
      if (is("llama") && listed != windowed) {
        return fields_.FieldError("layer_types", "the layers of a llama have no windows");
      }
      windowed = std::move(listed);
    }
    if (std::ranges::find(windowed, true) == windowed.end()) return base::OkStatus();
    if (!has_window) {
      return fields_.FieldError("sliding_window", is_qwen_
                                                      ? "layers of sliding_attention need it and a "
                                                        "\"use_sliding_window\" that is true"
                                                      : "layers of sliding_attention need it");
    }
    SUBMIX_ASSIGN_OR_RETURN(config_.window, fields_.Int("sliding_window", 1, kMaxContext));
    config_.windowed_layers = std::move(windowed);
    return base::OkStatus();
  }

  StatusOr<std::vector<bool>> ListedWindows() const {
    SUBMIX_ASSIGN_OR_RETURN(const auto types, fields_.Texts("layer_types"));
    if (std::ssize(types) != config_.layers) {
      return fields_.FieldError(
          "layer_types", "expected one for each of " + std::to_string(config_.layers) + " layers");
    }
    std::vector<bool> windowed;
    for (const std::string& type : types) {
      if (type != "full_attention" && type != "sliding_attention") {
        return fields_.FieldError("layer_types", Quoted(type) + " is not supported");
      }
      windowed.push_back(type == "sliding_attention");
    }
    return windowed;
  }

  // What it is without layer_types.
  StatusOr<std::vector<bool>> WindowsOfFamily(bool has_window) const {
    int first = 0;    // layer with a window
    int pattern = 0;  // every `pattern`th layer sees everything; 0: none does
    if (is("gemma2")) pattern = 2;
    if (is("gemma3_text")) {
      SUBMIX_ASSIGN_OR_RETURN(pattern, fields_.Int("sliding_window_pattern", 1, kMaxLayers));
    }
    if (is_qwen_) {
      SUBMIX_ASSIGN_OR_RETURN(first, fields_.Int("max_window_layers", 0, kMaxLayers));
    }
    std::vector<bool> windowed;
    for (int layer = 0; layer < config_.layers; ++layer) {
      windowed.push_back((has_window || is_gemma_) && layer >= first &&
                         (pattern == 0 || (layer + 1) % pattern != 0));
    }
    return windowed;
  }

  Status ReadGemma() {
    config_.has_norms_after_blocks = true;
    config_.embedding_scale = std::sqrt(static_cast<double>(config_.width));
    SUBMIX_ASSIGN_OR_RETURN(const double scalar, fields_.Number("query_pre_attn_scalar"));
    if (!(scalar > 0 && scalar < 1e6)) {
      return fields_.FieldError("query_pre_attn_scalar", "expected a number above 0");
    }
    config_.attention_scale = 1 / std::sqrt(scalar);
    SUBMIX_RETURN_IF_ERROR(ReadCap("attn_logit_softcapping", config_.attention_soft_cap));
    return ReadCap("final_logit_softcapping", config_.logit_soft_cap);
  }

  Status ReadCap(std::string_view field, double& cap) const {
    if (!fields_.Has(field)) return base::OkStatus();
    SUBMIX_ASSIGN_OR_RETURN(cap, fields_.Number(field));
    if (cap > 0 && cap < 1e6) return base::OkStatus();
    return fields_.FieldError(field, "expected null or a number above 0");
  }

  const JsonObject& fields_;
  const bool is_gemma_;
  const bool is_qwen_;
  const bool is_mistral_;
  DecoderConfig config_;
};

}  // namespace

StatusOr<DecoderConfig> ReadRotaryFamily(const JsonObject& fields) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string family, fields.Text("model_type"));
  return FamilyReader(family, fields).Read();
}

}  // namespace submix::model
