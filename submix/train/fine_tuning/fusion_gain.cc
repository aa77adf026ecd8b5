#include "submix/train/fine_tuning/fusion_gain.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include <torch/nn/functional/loss.h>
#include <torch/types.h>

#include "submix/train/models/fused_operations.h"

namespace submix::train {
namespace {

using Operation = std::function<at::Tensor(const at::Tensor&)>;  // of the input, to a scalar

double Seconds(const Operation& operation, const at::Tensor& input) {
  const at::Tensor x = input.detach().requires_grad_(true);
  const auto start = std::chrono::steady_clock::now();
  operation(x).backward();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Median(std::vector<double> seconds) {
  std::nth_element(seconds.begin(), seconds.begin() + std::ssize(seconds) / 2, seconds.end());
  return seconds[seconds.size() / 2];
}

OperationTimes Compare(const std::string& name, int runs, const at::Tensor& input,
                       const Operation& plain, const Operation& fused) {
  std::vector<double> of_plain;
  std::vector<double> of_fused;
  for (int run = 0; run <= runs; ++run) {
    const double plain_seconds = Seconds(plain, input);
    const double fused_seconds = Seconds(fused, input);
    if (run == 0) continue;  // memory is being mapped
    of_plain.push_back(plain_seconds);
    of_fused.push_back(fused_seconds);
  }
  return {name, Median(of_plain), Median(of_fused)};
}

at::Tensor PlainAttention(const at::Tensor& qkv, const FusionShape& shape) {
  const std::int64_t head_width = shape.width / shape.heads;
  const at::Tensor split =
      qkv.view({-1, shape.positions, 3, shape.heads, head_width}).permute({2, 0, 3, 1, 4});
  const at::Tensor scores = torch::matmul(split[0], split[1].transpose(-2, -1)) /
                            std::sqrt(static_cast<double>(head_width));
  const at::Tensor hidden = torch::ones({shape.positions, shape.positions}, torch::kBool).triu(1);
  const at::Tensor weights = torch::softmax(scores.masked_fill(hidden, -INFINITY), -1);
  return torch::matmul(weights, split[2]).transpose(1, 2).reshape({shape.rows, shape.width});
}

OperationTimes CompareGelu(const FusionShape& shape, int runs) {
  return Compare(
      "gelu", runs, torch::randn({shape.rows, 4 * shape.width}),
      [](const at::Tensor& x) { return torch::gelu(x, "tanh").sum(); },
      [](const at::Tensor& x) { return Gelu(x).sum(); });
}

OperationTimes CompareAttention(const FusionShape& shape, int runs) {
  return Compare(
      "causal attention", runs, torch::randn({shape.rows, 3 * shape.width}),
      [&](const at::Tensor& x) { return PlainAttention(x, shape).sum(); },
      [&](const at::Tensor& x) { return CausalAttention(x, shape.positions, shape.heads).sum(); });
}

OperationTimes CompareCrossEntropy(const FusionShape& shape, int runs) {
  const at::Tensor unembedding = 0.02 * torch::randn({shape.vocabulary, shape.width});
  const at::Tensor targets = torch::randint(shape.vocabulary, {shape.rows}, torch::kInt64);
  const at::Tensor weights = torch::full({shape.rows}, 1.0 / static_cast<double>(shape.rows));
  return Compare(
      "unembedding and cross-entropy", runs, torch::randn({shape.rows, shape.width}),
      [&](const at::Tensor& x) {
        return torch::nn::functional::cross_entropy(torch::matmul(x, unembedding.t()), targets);
      },
      [&](const at::Tensor& x) {
        return UnembeddingCrossEntropy(x, unembedding, targets, weights).total;
      });
}

}  // namespace

std::vector<OperationTimes> MeasureFusion(const FusionShape& shape, int runs) {
  at::manual_seed(1);
  return {CompareGelu(shape, runs), CompareAttention(shape, runs),
          CompareCrossEntropy(shape, runs)};
}

}  // namespace submix::train
