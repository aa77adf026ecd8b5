#include "benchmarks/product_bound.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include <torch/types.h>

#include "submix/model/decoder_tensors.h"

namespace submix {
namespace {

using Clock = std::chrono::steady_clock;

struct Product {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  bool goes_backward = true;  // for the gradient of what it reads
};

// Those of one forward pass.
std::vector<Product> Products(const model::DecoderConfig& config,
                              const ProductBoundOptions& options) {
  const int lowest = options.top_layers > 0 ? config.layers - options.top_layers : 0;
  std::vector<Product> products;
  const auto add = [&](const model::LinearLayer& linear, bool goes_backward) {
    products.push_back({linear.inputs, linear.outputs, goes_backward});
  };
  for (int layer = 0; layer < config.layers; ++layer) {
    const model::LayerLinears linears = model::LinearsOfLayer(config, layer);
    // What the lowest adapted layer reads hangs on no adapter.
    const bool is_read_from_adapted = options.trains_all_weights || layer > lowest;
    for (const model::LinearLayer& linear : linears.attention_in) add(linear, is_read_from_adapted);
    add(linears.attention_out, layer >= lowest);
    for (const model::LinearLayer& linear : linears.mlp_in) add(linear, layer >= lowest);
    add(linears.mlp_out, layer >= lowest);
  }
  products.push_back({config.width, config.vocab_size, true});
  return products;
}

}  // namespace

double MeasureProductBound(const model::DecoderConfig& config, const ProductBoundOptions& options) {
  const at::NoGradGuard no_grad;
  const at::ScalarType type =
      options.precision == train::Precision::kBfloat16 ? torch::kBFloat16 : torch::kFloat;
  const std::vector<Product> products = Products(config, options);
  double best = 0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    double seconds = 0;
    for (const Product& product : products) {
      const at::Tensor x = torch::rand({options.tokens, product.inputs}, type);
      const at::Tensor w = torch::rand({product.inputs, product.outputs}, type);
      const at::Tensor grad = torch::rand({options.tokens, product.outputs}, type);
      const auto start = Clock::now();
      at::mm(x, w);
      if (product.goes_backward) at::mm(grad, w.t());
      if (options.trains_all_weights) at::mm(x.t(), grad);
      seconds += std::chrono::duration<double>(Clock::now() - start).count();
    }
    best = std::max(best, static_cast<double>(options.tokens) / seconds);
  }
  return best;
}

}  // namespace submix
