// What fusing brings in fine-tuning: each operation of its own, forward and backward, against the
// same mathematics in libtorch's operations, in turns. One JSON object a line with --json.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <torch/torch.h>

#include "submix/train/fused_operations.h"
#include "submix/train/torch_environment.h"

namespace submix {
namespace {

using Operation = std::function<at::Tensor(const at::Tensor&)>;  // of the input, to a scalar

struct Settings {
  std::int64_t rows = 1024;  // a batch of 8 blocks
  std::int64_t positions = 128;
  std::int64_t width = 256;
  std::int64_t heads = 4;
  std::int64_t vocabulary = 8192;
  int runs = 15;
  int threads = 0;
  bool json = false;
};

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

void Compare(const Settings& settings, const char* name, const at::Tensor& input,
             const Operation& fused, const Operation& plain) {
  std::vector<double> of_fused;
  std::vector<double> of_plain;
  for (int run = 0; run <= settings.runs; ++run) {
    const double plain_seconds = Seconds(plain, input);
    const double fused_seconds = Seconds(fused, input);
    if (run == 0) continue;  // memory is being mapped
    of_plain.push_back(plain_seconds);
    of_fused.push_back(fused_seconds);
  }
  std::printf(settings.json ? "{\"benchmark\":\"fused_operations\",\"operation\":\"%s\","
                              "\"plain_ms\":%.3f,\"fused_ms\":%.3f,\"ratio\":%.2f}\n"
                            : "%s: %.3f ms by libtorch's operations, %.3f ms fused: %.2f times\n",
              name, 1e3 * Median(of_plain), 1e3 * Median(of_fused),
              Median(of_plain) / Median(of_fused));
  std::fflush(stdout);
}

at::Tensor PlainAttention(const at::Tensor& qkv, const Settings& settings) {
  const std::int64_t head_width = settings.width / settings.heads;
  const at::Tensor split =
      qkv.view({-1, settings.positions, 3, settings.heads, head_width}).permute({2, 0, 3, 1, 4});
  const at::Tensor scores = torch::matmul(split[0], split[1].transpose(-2, -1)) /
                            std::sqrt(static_cast<double>(head_width));
  const at::Tensor hidden =
      torch::ones({settings.positions, settings.positions}, torch::kBool).triu(1);
  const at::Tensor weights = torch::softmax(scores.masked_fill(hidden, -INFINITY), -1);
  return torch::matmul(weights, split[2]).transpose(1, 2).reshape({settings.rows, settings.width});
}

void CompareAll(const Settings& settings) {
  torch::manual_seed(1);
  const at::Tensor wide = torch::randn({settings.rows, 4 * settings.width});
  Compare(
      settings, "gelu", wide, [](const at::Tensor& x) { return train::Gelu(x).sum(); },
      [](const at::Tensor& x) { return torch::gelu(x, "tanh").sum(); });
  const at::Tensor qkv = torch::randn({settings.rows, 3 * settings.width});
  Compare(
      settings, "causal attention", qkv,
      [&](const at::Tensor& x) {
        return train::CausalAttention(x, settings.positions, settings.heads).sum();
      },
      [&](const at::Tensor& x) { return PlainAttention(x, settings).sum(); });
  const at::Tensor unembedding = 0.02 * torch::randn({settings.vocabulary, settings.width});
  const at::Tensor targets = torch::randint(settings.vocabulary, {settings.rows}, torch::kInt64);
  const at::Tensor weights = torch::full({settings.rows}, 1.0 / static_cast<double>(settings.rows));
  Compare(
      settings, "unembedding and cross-entropy", torch::randn({settings.rows, settings.width}),
      [&](const at::Tensor& x) {
        return train::UnembeddingCrossEntropy(x, unembedding, targets, weights).total;
      },
      [&](const at::Tensor& x) {
        return torch::nn::functional::cross_entropy(torch::matmul(x, unembedding.t()), targets);
      });
}

int Run(int argc, char** argv) {
  Settings settings;
  CLI::App app{"Times the fused operations of fine-tuning against libtorch's own, in turns."};
  app.add_option("--rows", settings.rows, "tokens of a batch")->check(CLI::PositiveNumber);
  app.add_option("--positions", settings.positions, "tokens of a block; divides --rows")
      ->check(CLI::PositiveNumber);
  app.add_option("--width", settings.width, "of the model")->check(CLI::PositiveNumber);
  app.add_option("--heads", settings.heads, "divides --width")->check(CLI::PositiveNumber);
  app.add_option("--vocabulary", settings.vocabulary, "words")->check(CLI::PositiveNumber);
  app.add_option("--runs", settings.runs, "of each; the median counts")->check(CLI::PositiveNumber);
  app.add_option("--threads", settings.threads, "0: one a processor")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--json", settings.json, "one JSON object a line");
  CLI11_PARSE(app, argc, argv);
  const base::Status status = train::SetTorchThreads(settings.threads);
  if (!status.ok() || settings.rows % settings.positions != 0 ||
      settings.width % settings.heads != 0) {
    std::fprintf(stderr,
                 "fused_operations_benchmark: --rows is a multiple of --positions, --width "
                 "of --heads\n");
    return 1;
  }
  CompareAll(settings);
  return 0;
}

}  // namespace
}  // namespace submix

int main(int argc, char** argv) {
  submix::train::PrepareTorchProcess(argv);
  return submix::Run(argc, argv);
}
