// Tokens a second of fine-tuning, against what the matrix products alone would allow: the same
// products, timed in the same run. One JSON object a line.
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <dlfcn.h>

#include "benchmarks/product_bound.h"
#include "benchmarks/work_directory.h"
#include "submix/base/file_system.h"
#include "submix/model/decoder_config.h"
#include "submix/train/fine_tuning/training_speed.h"
#include "submix/train/numerics/torch_environment.h"

namespace submix {
namespace {

struct Settings {
  std::string model = "data/public_model";
  std::vector<std::string> methods = {"lora", "full"};
  std::vector<std::string> precisions = {"f32", "bf16"};
  std::vector<int> members = {1, 4};
  int batch_size = 8;
  int block_tokens = 129;
  int rank = 8;
  int top_layers = 0;
  int steps = 10;
  int threads = 0;
  bool json = false;
};

struct Case {
  std::string method;
  std::string precision;
  int members = 1;

  bool is_lora() const { return method == "lora"; }
};

std::int64_t TokensAStep(const Settings& settings, const Case& which) {
  return std::int64_t{1} * which.members * settings.batch_size * (settings.block_tokens - 1);
}

// What OpenBLAS believes this processor is, or "" if it is not OpenBLAS: products in f32 depend on
// it.
const char* BlasCoreName() {
  void* const core_name = ::dlsym(RTLD_DEFAULT, "openblas_get_corename");
  return core_name == nullptr ? "" : reinterpret_cast<char* (*)()>(core_name)();
}

// Tokens a second of `settings.steps` updates of all members together.
base::StatusOr<double> Rate(const Settings& settings, const Case& which, int layers) {
  const WorkDirectory directory("fine_tune_benchmark");
  train::FineTuneOptions options;
  if (which.is_lora()) {
    options.lora->rank = settings.rank;
    options.lora->target_modules = {"all-linear"};
    for (int i = settings.top_layers; i > 0; --i) options.lora->layers.push_back(layers - i);
  } else {
    options.lora.reset();
  }
  options.batch_size = settings.batch_size;
  options.block_tokens = settings.block_tokens;
  options.members_at_a_time = which.members;
  options.precision = train::PrecisionOf(which.precision);
  options.threads = settings.threads;
  return train::PositionsASecond(settings.model, options, settings.steps,
                                 std::numeric_limits<double>::infinity(), directory.path());
}

base::Status Measure(const Settings& settings, const Case& which) {
  SUBMIX_ASSIGN_OR_RETURN(const model::DecoderConfig config,
                          model::LoadDecoderConfig(base::JoinPath(settings.model, "config.json")));
  if (which.is_lora() && settings.top_layers > config.layers) {
    return base::InvalidArgumentError("--top-layers " + std::to_string(settings.top_layers) +
                                      ": the model has " + std::to_string(config.layers));
  }
  SUBMIX_ASSIGN_OR_RETURN(const double rate, Rate(settings, which, config.layers));
  ProductBoundOptions products;
  products.trains_all_weights = !which.is_lora();
  if (which.is_lora()) products.top_layers = settings.top_layers;
  products.tokens = TokensAStep(settings, which);
  products.precision = train::PrecisionOf(which.precision);
  const double bound = MeasureProductBound(config, products);
  std::printf(
      settings.json
          ? "{\"benchmark\":\"fine_tune\",\"model\":\"%s\",\"blas_core\":\"%s\","
            "\"threads\":%d,\"method\":\"%s\",\"precision\":\"%s\",\"members\":%d,"
            "\"top_layers\":%d,\"batch_size\":%d,\"positions\":%d,\"tokens_per_second\":%.0f,"
            "\"product_bound\":%.0f,\"share_of_bound\":%.3f}\n"
          : "%s (%s, %d threads): %s %s, %d members at a time, top layers %d (0: all), %d x "
            "%d tokens: %.0f tokens/s; products alone %.0f, share %.3f\n",
      settings.model.c_str(), BlasCoreName(), settings.threads, which.method.c_str(),
      which.precision.c_str(), which.members, products.top_layers, settings.batch_size,
      settings.block_tokens - 1, rate, bound, rate / bound);
  std::fflush(stdout);
  return base::OkStatus();
}

int Run(int argc, char** argv) {
  Settings settings;
  CLI::App app{"Times fine-tuning updates of a model directory on random text."};
  app.add_option("--model", settings.model, "the public model")->check(CLI::ExistingDirectory);
  app.add_option("--methods", settings.methods, "lora, full")
      ->delimiter(',')
      ->check(CLI::IsMember({"lora", "full"}));
  app.add_option("--precisions", settings.precisions, "f32, bf16")
      ->delimiter(',')
      ->check(CLI::IsMember({"f32", "bf16"}));
  app.add_option("--members", settings.members, "members at a time (lora), one line each")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--batch-size", settings.batch_size, "blocks an update")
      ->check(CLI::PositiveNumber);
  app.add_option("--block-tokens", settings.block_tokens, "tokens a block")
      ->check(CLI::Range(2, 1 << 20));
  app.add_option("--rank", settings.rank, "of the adapters")->check(CLI::PositiveNumber);
  app.add_option("--top-layers", settings.top_layers, "that have adapters (lora); 0: all")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--steps", settings.steps, "updates timed")->check(CLI::PositiveNumber);
  app.add_option("--threads", settings.threads, "0: one a processor")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--json", settings.json, "one JSON object a line");
  CLI11_PARSE(app, argc, argv);
  for (const std::string& method : settings.methods) {
    for (const std::string& precision : settings.precisions) {
      for (const int members : settings.members) {
        if (method == "full" && members > 1) continue;
        const base::Status status = Measure(settings, {method, precision, members});
        if (!status.ok()) {
          std::fprintf(stderr, "fine_tune_benchmark: %s\n", status.ToString().c_str());
          return 1;
        }
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace submix

int main(int argc, char** argv) {
  submix::train::PrepareTorchProcess(argv);
  return submix::Run(argc, argv);
}
