// The tensors of a decoder by Hugging Face's names, without "transformer." or "model."; among them
// the linear layers, which an adapter may adapt.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/model/decoder_config.h"
#include "submix/model/weight_files.h"

namespace submix::model {

// "transformer." for a GPT-2, "model." for others.
std::string ModelPrefix(const DecoderConfig& config);
// Of a layer's names: "h.0.", "layers.0.".
std::string LayerPrefix(const DecoderConfig& config, int layer);

// The linear layers of GPT-2 are Conv1D, weights [inputs, outputs]; others' are [outputs, inputs].
bool HasConv1d(const DecoderConfig& config);

// A linear layer, the kind of layer that an adapter adapts.
struct LinearLayer {
  std::string name;  // "h.0.attn.c_attn", "layers.0.self_attn.q_proj"
  int layer = 0;
  int inputs = 0;
  int outputs = 0;
};
// Those of one transformer layer.
struct LayerLinears {
  std::vector<LinearLayer> attention_in;  // one for queries, keys and values, or one for each
  LinearLayer attention_out;
  std::vector<LinearLayer> mlp_in;  // gate and up, or one
  LinearLayer mlp_out;
};
LayerLinears LinearsOfLayer(const DecoderConfig& config, int layer);
// Those of all transformer layers, in layer order and in the order above.
std::vector<LinearLayer> LinearLayers(const DecoderConfig& config);

// Where the families' names of embeddings and norms differ. A layer's are behind its LayerPrefix.
struct DecoderNames {
  std::string token_embedding = "wte";
  std::string norm_1 = "ln_1";
  std::string norm_2 = "ln_2";
  std::string final_norm = "ln_f";
  std::string unembedding = "wte";  // the token embedding where they are tied, else "lm_head"
};
DecoderNames NamesOf(const DecoderConfig& config);

inline constexpr const char* kPositionEmbedding = "wpe.weight";
inline constexpr const char* kNormAfterAttention = "post_attention_layernorm";
inline constexpr const char* kNormAfterMlp = "post_feedforward_layernorm";
inline constexpr const char* kQueryNorm = "self_attn.q_norm";
inline constexpr const char* kKeyNorm = "self_attn.k_norm";

struct DecoderTensor {
  std::string name;                 // "h.0.attn.c_attn.weight"
  std::vector<std::int64_t> shape;  // as in the file
  bool is_linear = false;           // a linear layer's weight or bias
};
// In the order of a pass: embeddings, layers, the last norm, an unembedding that is not tied.
std::vector<DecoderTensor> DecoderTensors(const DecoderConfig& config);
// As it is called in a file: behind ModelPrefix, but for the unembedding.
std::string FullName(const DecoderConfig& config, const DecoderTensor& tensor);

// All of DecoderTensors in a model's files, with ModelPrefix or all without; reads headers alone.
// Errors: those of WeightFiles::Find; kDataLoss naming a tensor of floats that the model has no
// place for, but for buffers that Hugging Face's classes ignore.
base::StatusOr<std::vector<TensorView>> FindTensors(const DecoderConfig& config,
                                                    const WeightFiles& files);
// Reads all of FindTensors. Errors: kDataLoss naming a tensor with a number that is not finite, or
// an unembedding that is not the embedding, although they are tied.
base::Status CheckNumbers(const DecoderConfig& config, const WeightFiles& files);
// Whether a directory's weights are those that its config.json describes: both of these. Errors:
// theirs, and those of LoadDecoderConfig and WeightFiles::Open.
base::Status CheckWeights(const std::string& directory);

}  // namespace submix::model
