// What fusing brings in fine-tuning: each operation of its own, forward and backward, against the
// same mathematics in libtorch's operations, in turns. One JSON object a line with --json.
#include <cstdio>

#include <CLI/CLI.hpp>

#include "submix/train/fine_tuning/fusion_gain.h"
#include "submix/train/numerics/torch_environment.h"

namespace submix {
namespace {

struct Settings {
  train::FusionShape shape;
  int runs = 15;
  int threads = 0;
  bool json = false;
};

void Print(const train::OperationTimes& times, bool json) {
  std::printf(json ? "{\"benchmark\":\"fused_operations\",\"operation\":\"%s\","
                     "\"plain_ms\":%.3f,\"fused_ms\":%.3f,\"ratio\":%.2f}\n"
                   : "%s: %.3f ms by libtorch's operations, %.3f ms fused: %.2f times\n",
              times.operation.c_str(), 1e3 * times.plain_seconds, 1e3 * times.fused_seconds,
              times.plain_seconds / times.fused_seconds);
}

int Run(int argc, char** argv) {
  Settings settings;
  train::FusionShape& shape = settings.shape;
  CLI::App app{"Times the fused operations of fine-tuning against libtorch's own, in turns."};
  app.add_option("--rows", shape.rows, "tokens of a batch")->check(CLI::PositiveNumber);
  app.add_option("--positions", shape.positions, "tokens of a block; divides --rows")
      ->check(CLI::PositiveNumber);
  app.add_option("--width", shape.width, "of the model")->check(CLI::PositiveNumber);
  app.add_option("--heads", shape.heads, "divides --width")->check(CLI::PositiveNumber);
  app.add_option("--vocabulary", shape.vocabulary, "words")->check(CLI::PositiveNumber);
  app.add_option("--runs", settings.runs, "of each; the median counts")->check(CLI::PositiveNumber);
  app.add_option("--threads", settings.threads, "0: one a processor")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--json", settings.json, "one JSON object a line");
  CLI11_PARSE(app, argc, argv);
  const base::Status status = train::SetTorchThreads(settings.threads);
  if (!status.ok() || shape.rows % shape.positions != 0 || shape.width % shape.heads != 0) {
    std::fprintf(stderr,
                 "fused_operations_benchmark: --rows is a multiple of --positions, --width "
                 "of --heads\n");
    return 1;
  }
  for (const train::OperationTimes& times : train::MeasureFusion(shape, settings.runs)) {
    Print(times, settings.json);
  }
  return 0;
}

}  // namespace
}  // namespace submix

int main(int argc, char** argv) {
  submix::train::PrepareTorchProcess(argv);
  return submix::Run(argc, argv);
}
