// How fast training could be if it were its large matrix products and nothing else: the yardstick
// of the benchmarks. Torch-free header.
#pragma once

#include <cstdint>

#include "submix/model/decoder_config.h"
#include "submix/train/recipes/precision.h"

namespace submix {

struct ProductBoundOptions {
  train::Precision precision = train::Precision::kFloat32;
  bool trains_all_weights = false;  // false: LoRA, whose own small products are not counted
  int top_layers = 0;               // that are adapted; 0: all. Below them nothing goes backward
  std::int64_t tokens = 1024;       // of one update
};

// Tokens a second: the products of one update with the model's weights, forward, for the gradients
// of activations that training needs and, if all weights are trained, for those of weights, timed
// on this machine with the threads that SetTorchThreads set. The best of three. Requires: 0 <=
// top_layers <= config.layers, and 0 with trains_all_weights.
double MeasureProductBound(const model::DecoderConfig& config, const ProductBoundOptions& options);

}  // namespace submix
