// One description of a decoder-only language model, read from Hugging Face's config.json of every
// family that is known: gpt2, llama, mistral, ministral, qwen2, qwen3, gemma2 and gemma3_text.
// Whatever runs a model knows this description alone.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "submix/base/status.h"

namespace submix::model {

enum class Norm {
  kLayer,       // mean and variance, gain and shift
  kRms,         // root mean square, gain
  kRmsOnePlus,  // the same, the gain stored less 1
};
enum class Activation { kGeluTanh, kSilu };
enum class RotaryScaling { kNone, kLinear, kLlama3 };

// Rotary position embeddings, in Hugging Face's convention: element i of a head's first half turns
// with element i of its second half.
struct Rotary {
  double base = 10'000;  // rope_theta
  RotaryScaling scaling = RotaryScaling::kNone;
  double factor = 1;
  // Of kLlama3: wave lengths that stay, that are stretched, and the context they are counted in.
  double low_frequency_factor = 1;
  double high_frequency_factor = 4;
  int original_context = 8192;
  bool operator==(const Rotary&) const = default;
};

// The defaults are GPT-2's.
struct DecoderConfig {
  std::string family = "gpt2";  // model_type
  int vocab_size = 0;           // V; may be more than the tokenizer's
  int context_length = 0;       // tokens
  int width = 0;                // C, of the residual stream
  int layers = 0;
  int attention_heads = 0;
  int key_value_heads = 0;  // divides attention_heads; 0: as many
  int head_width = 0;       // 0: width / attention_heads
  int mlp_width = 0;        // 0: 4 width
  double norm_epsilon = 1e-5;
  int end_of_text = 0;  // the first eos_token_id, 0 if there is none (end_tokens.h: all)

  Norm norm = Norm::kLayer;
  bool has_norms_after_blocks = false;  // of attention's and the feed-forward's outcome, too
  bool has_query_key_norms = false;     // of each head
  bool has_learned_positions = true;    // else rotary
  Rotary rotary = {};
  Rotary windowed_rotary = {};             // of the layers with a window
  int window = 0;                          // tokens that such a layer sees, its own included
  std::vector<bool> windowed_layers = {};  // [layers], or empty: none
  double attention_scale = 0;              // of query · key; 0: 1 / sqrt(head width)
  double attention_soft_cap = 0;           // cap tanh(x / cap); 0: none
  double logit_soft_cap = 0;               // 0: none
  double embedding_scale = 1;              // tokens' embeddings are multiplied by it
  Activation activation = Activation::kGeluTanh;
  bool is_gated = false;  // feed-forward: activation(gate x) * up x
  bool has_attention_in_bias = true;
  bool has_attention_out_bias = true;
  bool has_mlp_bias = true;
  bool has_tied_embeddings = true;

  int num_key_value_heads() const {
    return key_value_heads > 0 ? key_value_heads : attention_heads;
  }
  int width_of_head() const { return head_width > 0 ? head_width : width / attention_heads; }
  int width_of_mlp() const { return mlp_width > 0 ? mlp_width : 4 * width; }
  int query_width() const { return attention_heads * width_of_head(); }
  int key_width() const { return num_key_value_heads() * width_of_head(); }
  float scale_of_scores() const {  // of query · key
    if (attention_scale > 0) return static_cast<float>(attention_scale);
    return 1.0f / std::sqrt(static_cast<float>(width_of_head()));
  }
  bool is_windowed(int layer) const {
    return !windowed_layers.empty() && windowed_layers[static_cast<std::size_t>(layer)];
  }

  bool operator==(const DecoderConfig&) const = default;
};

// Errors: kNotFound; kInvalidArgument, naming file and field, for what is not JSON, a family that
// is not known, a field that is not known, out of range, or asks for what is not computed here.
// What is absent is what Hugging Face's own class takes it for; no field is ignored but those that
// cannot change a result (config_tables.cc).
base::StatusOr<DecoderConfig> LoadDecoderConfig(const std::string& path);
// That of the model in a directory, of its config.json.
base::StatusOr<DecoderConfig> LoadConfigOf(const std::string& model_directory);

// A Llama of this size, its other fields as Hugging Face's LlamaConfig has them, but tied.
// Requires: heads that divide the width into even parts, key_value_heads that divide the heads.
DecoderConfig LlamaOfSize(const DecoderConfig& size);

// The text of a config.json, as Hugging Face's GPT2LMHeadModel or LlamaForCausalLM reads it.
// Requires: family "gpt2", or "llama" without a rotary scaling.
std::string DecoderConfigJson(const DecoderConfig& config);
// The text of a config.json for the same model with its weights in float32: where it names their
// type, another is not true any more, and Hugging Face would round what it loads. Requires: a JSON
// object.
std::string ConfigOfFloats(const std::string& config_json);

// Radians a token of each pair of a head: [width_of_head / 2].
std::vector<double> RotaryFrequencies(const Rotary& rotary, int head_width);

}  // namespace submix::model
