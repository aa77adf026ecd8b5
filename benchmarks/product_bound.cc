#include "benchmarks/product_bound.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <torch/types.h>

#include "submix/model/decoder_tensors.h"

namespace submix {
namespace {

using Clock = std::chrono::steady_clock;

// The weights of one forward pass: [inputs, outputs].
std::vector<std::pair<std::int64_t, std::int64_t>> WeightShapes(
    const model::DecoderConfig& config) {
  std::vector<std::pair<std::int64_t, std::int64_t>> shapes;
  for (const model::LinearLayer& linear : model::LinearLayers(config)) {
    shapes.emplace_back(linear.inputs, linear.outputs);
  }
  shapes.emplace_back(config.width, config.vocab_size);
  return shapes;
}

}  // namespace

double MeasureProductBound(const model::DecoderConfig& config, const ProductBoundOptions& options) {
  const at::NoGradGuard no_grad;
  const at::ScalarType type =
      options.precision == train::Precision::kBfloat16 ? torch::kBFloat16 : torch::kFloat;
  double best = 0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    double seconds = 0;
    for (const auto& [inputs, outputs] : WeightShapes(config)) {
      const at::Tensor x = torch::randn({options.tokens, inputs}).to(type);
      const at::Tensor w = torch::randn({inputs, outputs}).to(type);
      const at::Tensor grad = torch::randn({options.tokens, outputs}).to(type);
      const auto start = Clock::now();
      at::mm(x, w);
      at::mm(grad, w.t());
      if (options.trains_all_weights) at::mm(x.t(), grad);
      seconds += std::chrono::duration<double>(Clock::now() - start).count();
    }
    best = std::max(best, static_cast<double>(options.tokens) / seconds);
  }
  return best;
}

}  // namespace submix
