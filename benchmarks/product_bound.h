// How fast training could be if it were its large matrix products and nothing else: the yardstick
// of the benchmarks. Torch-free header.
#pragma once

#include <cstdint>

#include "submix/model/decoder_config.h"
#include "submix/train/numerics/precision.h"

namespace submix {

struct ProductBoundOptions {
  train::Precision precision = train::Precision::kFloat32;
  bool trains_all_weights = false;  // false: LoRA, whose own small products are not counted
  std::int64_t tokens = 1024;       // of one update
};

// Tokens a second: the products of one update with the model's weights, forward, for the gradients
// of activations and, if all weights are trained, for those of weights, timed on this machine with
// the threads that SetTorchThreads set. The best of three.
double MeasureProductBound(const model::DecoderConfig& config, const ProductBoundOptions& options);

}  // namespace submix
