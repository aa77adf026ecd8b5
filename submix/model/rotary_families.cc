// Families with rotary positions and root-mean-square norms, which differ in a few fields each.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "submix/model/decoder_families.h"
#include "submix/model/end_tokens.h"

namespace submix::model {
namespace {

using base::JsonObject;
using base::Quoted;
using base::Status;
using base::StatusOr;

constexpr std::array<std::string_view, 6> kFamilies = {"llama", "mistral", "qwen2",
                                                       "qwen3", "gemma2",  "gemma3_text"};

class FamilyReader {
 public:
  FamilyReader(const std::string& family, const JsonObject& json)
      : json_(json), is_gemma_(family.starts_with("gemma")) {
    config_.family = family;
  }

  StatusOr<DecoderConfig> Read() {
    SUBMIX_RETURN_IF_ERROR(CheckFields());
    SUBMIX_RETURN_IF_ERROR(ReadShape());
    SUBMIX_RETURN_IF_ERROR(ReadHeads());
    SUBMIX_RETURN_IF_ERROR(ReadLayer());
    SUBMIX_RETURN_IF_ERROR(ReadRotary());
    SUBMIX_RETURN_IF_ERROR(ReadWindows());
    if (is_gemma_) SUBMIX_RETURN_IF_ERROR(ReadGemma());
    return config_;
  }

 private:
  bool is(std::string_view family) const { return config_.family == family; }

  Status CheckFields() const {
    SUBMIX_RETURN_IF_ERROR(json_.ExpectOthersOff(
        {// Read below.
         "model_type", "vocab_size", "max_position_embeddings", "hidden_size", "num_hidden_layers",
         "num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size",
         "rms_norm_eps", "eos_token_id", "hidden_act", "hidden_activation", "attention_bias",
         "mlp_bias", "tie_word_embeddings", "rope_theta", "rope_scaling", "rope_local_base_freq",
         "sliding_window", "use_sliding_window", "max_window_layers", "layer_types",
         "sliding_window_pattern", "_sliding_window_pattern", "query_pre_attn_scalar",
         "attn_logit_softcapping", "final_logit_softcapping", "partial_rotary_factor",
         "pretraining_tp",
         // Cannot change what a model computes.
         "architectures", "torch_dtype", "dtype", "transformers_version", "transformers.js_config",
         "use_cache", "initializer_range", "attention_dropout", "hidden_dropout", "bos_token_id",
         "pad_token_id", "unk_token_id", "_name_or_path", "is_llama_config", "cache_implementation",
         "_attn_implementation", "max_length", "sliding_window_size", "use_bidirectional_attention",
         "output_attentions", "output_hidden_states", "return_dict"},
        "not known for a " + config_.family + " model; if it changes no result, remove it"));
    double factor = 1;
    SUBMIX_RETURN_IF_ERROR(json_.ReadIfPresent("partial_rotary_factor", factor));
    if (factor != 1) return json_.FieldError("partial_rotary_factor", "only 1 is supported");
    return base::OkStatus();
  }

  Status ReadShape() {
    SUBMIX_ASSIGN_OR_RETURN(config_.vocab_size, json_.Int("vocab_size", 1, kMaxVocabulary));
    SUBMIX_ASSIGN_OR_RETURN(config_.context_length,
                            json_.Int("max_position_embeddings", 1, kMaxContext));
    SUBMIX_ASSIGN_OR_RETURN(config_.width, json_.Int("hidden_size", 1, kMaxWidth));
    SUBMIX_ASSIGN_OR_RETURN(config_.layers, json_.Int("num_hidden_layers", 1, kMaxLayers));
    SUBMIX_ASSIGN_OR_RETURN(config_.mlp_width, json_.Int("intermediate_size", 1, 4 * kMaxWidth));
    SUBMIX_ASSIGN_OR_RETURN(const auto ends,
                            ReadTokenIds(json_, "eos_token_id", config_.vocab_size));
    config_.end_of_text = ends.front();
    return base::OkStatus();
  }

  Status ReadHeads() {
    SUBMIX_ASSIGN_OR_RETURN(config_.attention_heads,
                            json_.Int("num_attention_heads", 1, config_.width));
    config_.key_value_heads = config_.attention_heads;
    if (json_.Has("num_key_value_heads")) {
      SUBMIX_ASSIGN_OR_RETURN(config_.key_value_heads,
                              json_.Int("num_key_value_heads", 1, config_.attention_heads));
    }
    if (config_.attention_heads % config_.key_value_heads != 0) {
      return json_.FieldError("num_key_value_heads", "does not divide \"num_attention_heads\"");
    }
    if (json_.Has("head_dim")) {
      SUBMIX_ASSIGN_OR_RETURN(config_.head_width, json_.Int("head_dim", 2, kMaxWidth));
    } else if (config_.width % config_.attention_heads != 0) {
      return json_.FieldError("num_attention_heads", "does not divide \"hidden_size\"");
    } else {
      config_.head_width = config_.width / config_.attention_heads;
    }
    if (config_.head_width % 2 != 0) {
      return json_.FieldError("head_dim", "rotary positions need an even width of a head");
    }
    if (config_.attention_heads > 4 * kMaxWidth / config_.head_width) {
      return json_.FieldError("head_dim", "too wide for \"num_attention_heads\"");
    }
    return base::OkStatus();
  }

  Status ReadLayer() {
    config_.norm = is_gemma_ ? Norm::kRmsOnePlus : Norm::kRms;
    config_.norm_epsilon = 1e-6;
    SUBMIX_RETURN_IF_ERROR(json_.ReadIfPresent("rms_norm_eps", config_.norm_epsilon));
    if (!(config_.norm_epsilon > 0 && config_.norm_epsilon < 1)) {
      return json_.FieldError("rms_norm_eps", "expected a number between 0 and 1");
    }
    config_.has_query_key_norms = is("qwen3") || is("gemma3_text");
    config_.is_gated = true;
    config_.activation = is_gemma_ ? Activation::kGeluTanh : Activation::kSilu;
    const std::string expected = is_gemma_ ? "gelu_pytorch_tanh" : "silu";
    // Gemma 2 has both; the second one counts.
    const char* field = json_.Has("hidden_activation") ? "hidden_activation" : "hidden_act";
    std::string found = expected;
    SUBMIX_RETURN_IF_ERROR(json_.ReadIfPresent(field, found));
    if (found != expected) {
      return json_.FieldError(field, "expected " + Quoted(expected) + ", found " + Quoted(found));
    }
    bool has_attention_bias = is("qwen2");
    SUBMIX_RETURN_IF_ERROR(json_.ReadIfPresent("attention_bias", has_attention_bias));
    config_.has_attention_in_bias = has_attention_bias;
    config_.has_attention_out_bias = has_attention_bias && !is("qwen2");
    config_.has_mlp_bias = false;
    SUBMIX_RETURN_IF_ERROR(json_.ReadIfPresent("mlp_bias", config_.has_mlp_bias));
    config_.has_tied_embeddings = is_gemma_;
    return json_.ReadIfPresent("tie_word_embeddings", config_.has_tied_embeddings);
  }

  Status ReadRotary() {
    config_.has_learned_positions = false;
    config_.rotary.base = is("gemma3_text") ? 1e6 : 1e4;
    SUBMIX_RETURN_IF_ERROR(ReadBase("rope_theta", config_.rotary.base));
    config_.windowed_rotary = config_.rotary;
    if (!json_.IsOff("rope_scaling")) {
      SUBMIX_ASSIGN_OR_RETURN(const JsonObject scaling, json_.Object("rope_scaling"));
      SUBMIX_RETURN_IF_ERROR(ReadScaling(scaling));
    }
    if (!is("gemma3_text")) {
      config_.windowed_rotary = config_.rotary;
      return base::OkStatus();
    }
    config_.windowed_rotary.base = 1e4;
    return ReadBase("rope_local_base_freq", config_.windowed_rotary.base);
  }

  Status ReadBase(std::string_view field, double& base) const {
    SUBMIX_RETURN_IF_ERROR(json_.ReadIfPresent(field, base));
    if (base > 1 && base < 1e12) return base::OkStatus();
    return json_.FieldError(field, "expected a number above 1 and below 1e12");
  }

  Status ReadScaling(const JsonObject& json) {
    const char* field = json.Has("rope_type") ? "rope_type" : "type";
    SUBMIX_ASSIGN_OR_RETURN(const std::string type, json.Text(field));
    if (type == "default") return base::OkStatus();
    if (type != "linear" && type != "llama3") {
      return json.FieldError(field, Quoted(type) + " is not supported; linear and llama3 are");
    }
    Rotary& rotary = config_.rotary;
    rotary.scaling = type == "linear" ? RotaryScaling::kLinear : RotaryScaling::kLlama3;
    SUBMIX_ASSIGN_OR_RETURN(rotary.factor, json.Number("factor"));
    if (!(rotary.factor >= 1 && rotary.factor <= 1e6)) {
      return json.FieldError("factor", "expected a number from 1 to 1e6");
    }
    if (type == "linear") return base::OkStatus();
    SUBMIX_ASSIGN_OR_RETURN(rotary.low_frequency_factor, json.Number("low_freq_factor"));
    SUBMIX_ASSIGN_OR_RETURN(rotary.high_frequency_factor, json.Number("high_freq_factor"));
    if (!(rotary.low_frequency_factor > 0 &&
          rotary.low_frequency_factor < rotary.high_frequency_factor)) {
      return json.FieldError("low_freq_factor", "expected above 0 and below \"high_freq_factor\"");
    }
    SUBMIX_ASSIGN_OR_RETURN(rotary.original_context,
                            json.Int("original_max_position_embeddings", 1, kMaxContext));
    return base::OkStatus();
  }

  Status ReadWindows() {
    bool uses_window = !is("llama");
    if (is("qwen2") || is("qwen3")) {
      uses_window = false;
      SUBMIX_RETURN_IF_ERROR(json_.ReadIfPresent("use_sliding_window", uses_window));
    }
    std::vector<bool> windowed;
    if (json_.Has("layer_types")) {
      SUBMIX_ASSIGN_OR_RETURN(windowed, ListedWindows());
    } else if (uses_window && json_.Has("sliding_window")) {
      SUBMIX_ASSIGN_OR_RETURN(windowed, WindowsOfFamily());
    }
    if (std::ranges::find(windowed, true) == windowed.end()) return base::OkStatus();
    SUBMIX_ASSIGN_OR_RETURN(config_.window, json_.Int("sliding_window", 1, kMaxContext));
    config_.windowed_layers = std::move(windowed);
    return base::OkStatus();
  }

  StatusOr<std::vector<bool>> ListedWindows() const {
    SUBMIX_ASSIGN_OR_RETURN(const auto types, json_.Texts("layer_types"));
    if (std::ssize(types) != config_.layers) {
      return json_.FieldError(
          "layer_types", "expected one for each of " + std::to_string(config_.layers) + " layers");
    }
    std::vector<bool> windowed;
    for (const std::string& type : types) {
      if (type != "full_attention" && type != "sliding_attention") {
        return json_.FieldError("layer_types", Quoted(type) + " is not supported");
      }
      windowed.push_back(type == "sliding_attention");
    }
    return windowed;
  }

  StatusOr<std::vector<bool>> WindowsOfFamily() const {
    // Every `pattern`th layer sees everything; 0: none does.
    int pattern = is("gemma2") ? 2 : is("gemma3_text") ? 6 : 0;
    for (const char* field : {"sliding_window_pattern", "_sliding_window_pattern"}) {
      if (!is_gemma_ || !json_.Has(field)) continue;
      SUBMIX_ASSIGN_OR_RETURN(pattern, json_.Int(field, 1, kMaxLayers));
    }
    int first = 0;
    if ((is("qwen2") || is("qwen3")) && json_.Has("max_window_layers")) {
      SUBMIX_ASSIGN_OR_RETURN(first, json_.Int("max_window_layers", 0, kMaxLayers));
    }
    std::vector<bool> windowed;
    for (int layer = 0; layer < config_.layers; ++layer) {
      windowed.push_back(layer >= first && (pattern == 0 || (layer + 1) % pattern != 0));
    }
    return windowed;
  }

  Status ReadGemma() {
    config_.has_norms_after_blocks = true;
    config_.embedding_scale = std::sqrt(static_cast<double>(config_.width));
    SUBMIX_ASSIGN_OR_RETURN(const double scalar, json_.Number("query_pre_attn_scalar"));
    if (!(scalar > 0 && scalar < 1e6)) {
      return json_.FieldError("query_pre_attn_scalar", "expected a number above 0");
    }
    config_.attention_scale = 1 / std::sqrt(scalar);
    SUBMIX_RETURN_IF_ERROR(ReadCap("attn_logit_softcapping", config_.attention_soft_cap));
    return ReadCap("final_logit_softcapping", config_.logit_soft_cap);
  }

  Status ReadCap(std::string_view field, double& cap) const {
    if (!json_.Has(field)) return base::OkStatus();
    SUBMIX_ASSIGN_OR_RETURN(cap, json_.Number(field));
    if (cap > 0 && cap < 1e6) return base::OkStatus();
    return json_.FieldError(field, "expected null or a number above 0");
  }

  const JsonObject& json_;
  const bool is_gemma_;
  DecoderConfig config_;
};

}  // namespace

bool IsRotaryFamily(const std::string& family) {
  return std::ranges::find(kFamilies, family) != kFamilies.end();
}

StatusOr<DecoderConfig> ReadRotaryFamily(const std::string& family, const JsonObject& json) {
  return FamilyReader(family, json).Read();
}

}  // namespace submix::model
