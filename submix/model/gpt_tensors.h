// The tensors of a GPT-2-architecture model by Hugging Face's names without "transformer.": the
// table that reading, training and adapting a model go by.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "submix/model/gpt_config.h"

namespace submix::model {

// A linear layer, the kind of layer that an adapter adapts: y = x weight + bias.
struct LinearLayer {
  std::string name;  // "h.0.attn.c_attn"
  int layer = 0;
  int inputs = 0;
  int outputs = 0;
};
// Those of all transformer layers, in layer order.
std::vector<LinearLayer> LinearLayers(const GptConfig& config);

struct GptTensor {
  std::string name;                 // "h.0.attn.c_attn.weight"
  std::vector<std::int64_t> shape;  // of a linear layer's weight [inputs, outputs]
  bool is_linear = false;           // a linear layer's weight or bias
};
// In the order of a pass: embeddings, layers, the last norm.
std::vector<GptTensor> GptTensors(const GptConfig& config);

}  // namespace submix::model
