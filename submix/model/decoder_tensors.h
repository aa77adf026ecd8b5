// The linear layers of a decoder by Hugging Face's names, without "transformer." or "model.": what
// an adapter may adapt. And all tensors of a GPT-2, the table that its training goes by.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "submix/model/decoder_config.h"

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
// Those of all transformer layers, in layer order.
std::vector<LinearLayer> LinearLayers(const DecoderConfig& config);

struct GptTensor {
  std::string name;                 // "h.0.attn.c_attn.weight"
  std::vector<std::int64_t> shape;  // of a linear layer's weight [inputs, outputs]
  bool is_linear = false;           // a linear layer's weight or bias
};
// In the order of a pass: embeddings, layers, the last norm. Requires: family "gpt2".
std::vector<GptTensor> GptTensors(const DecoderConfig& config);

}  // namespace submix::model
