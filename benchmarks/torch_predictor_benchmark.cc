// Rows a second of the predictor by libtorch: decoding (Step, one token a sequence) and scoring of
// whole documents (Score), with random adapters. One JSON object a line.
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "benchmarks/work_directory.h"
#include "submix/base/file_system.h"
#include "submix/model/lora_adapter.h"
#include "submix/train/models/torch_predictor.h"
#include "submix/train/numerics/torch_environment.h"

namespace submix {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::string model = "data/public_model";
  std::vector<int> members = {16, 64};
  std::vector<int> sequences = {1, 8};
  int top_layers = 0;  // adapted layers; 0 for all
  int rank = 8;
  int prompt = 64;
  int steps = 20;
  int document = 257;
  int threads = 0;
  bool bf16 = false;
  bool json = false;
};

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

base::Status WriteAdapter(const Settings& settings, const model::GptConfig& config,
                          std::uint64_t seed, const std::string& directory) {
  model::LoraAdapter adapter;
  adapter.config.rank = settings.rank;
  adapter.config.target_modules = {"c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"};
  for (int i = 0; i < settings.top_layers; ++i) {
    adapter.config.layers.push_back(config.layers - settings.top_layers + i);
  }
  SUBMIX_ASSIGN_OR_RETURN(adapter.modules, model::AdaptedModules(config, adapter.config));
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<float> uniform(-0.02f, 0.02f);
  const auto rank = static_cast<std::size_t>(settings.rank);
  for (model::LoraModule& module : adapter.modules) {
    module.a.resize(rank * static_cast<std::size_t>(module.inputs));
    module.b.resize(rank * static_cast<std::size_t>(module.outputs));
    for (float& value : module.a) value = uniform(generator);
    for (float& value : module.b) value = uniform(generator);
  }
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(directory));
  return model::SaveLoraAdapter(adapter, directory);
}

base::StatusOr<std::unique_ptr<ensemble::Predictor>> LoadPredictor(const Settings& settings,
                                                                   int members) {
  const WorkDirectory directory("torch_predictor_benchmark");
  SUBMIX_ASSIGN_OR_RETURN(const model::GptConfig config,
                          model::LoadGptConfig(base::JoinPath(settings.model, "config.json")));
  train::TorchPredictorOptions options;
  options.public_directory = settings.model;
  options.threads = settings.threads;
  options.precision = settings.bf16 ? train::Precision::kBfloat16 : train::Precision::kFloat32;
  for (int m = 0; m < members; ++m) {
    options.member_directories.push_back(base::JoinPath(directory.path(), std::to_string(m)));
    SUBMIX_RETURN_IF_ERROR(WriteAdapter(settings, config, static_cast<std::uint64_t>(m),
                                        options.member_directories.back()));
  }
  return train::TorchPredictor::Load(options);
}

std::vector<base::TokenId> RandomTokens(int count, int vocab_size) {
  std::mt19937_64 generator(1);
  std::vector<base::TokenId> tokens(static_cast<std::size_t>(count));
  for (base::TokenId& token : tokens) {
    token = static_cast<base::TokenId>(generator() % static_cast<std::uint64_t>(vocab_size));
  }
  return tokens;
}

// Seconds of one Step of one token a sequence.
base::StatusOr<double> StepSeconds(const Settings& settings, ensemble::Predictor& predictor,
                                   int num_sequences) {
  const auto prompt = RandomTokens(settings.prompt, predictor.vocab_size());
  const std::vector<base::TokenId> one = {prompt[0]};
  std::vector<ensemble::Predictor::Append> prompts, ones;
  for (int i = 0; i < num_sequences; ++i) {
    prompts.push_back({predictor.Open(), prompt});
    ones.push_back({prompts.back().sequence, one});
  }
  std::vector<float> logits(static_cast<std::size_t>(num_sequences) *
                            static_cast<std::size_t>(predictor.num_members() + 1) *
                            static_cast<std::size_t>(predictor.vocab_size()));
  SUBMIX_RETURN_IF_ERROR(predictor.Step(prompts, logits));
  SUBMIX_RETURN_IF_ERROR(predictor.Step(ones, logits));
  const auto start = Clock::now();
  for (int i = 0; i < settings.steps; ++i) {
    SUBMIX_RETURN_IF_ERROR(predictor.Step(ones, logits));
  }
  const double seconds = SecondsSince(start) / settings.steps;
  for (const auto& append : prompts) predictor.Close(append.sequence);
  return seconds;
}

base::StatusOr<double> ScoreSeconds(const Settings& settings, ensemble::Predictor& predictor) {
  const auto tokens = RandomTokens(settings.document, predictor.vocab_size());
  const auto ignore = [](std::size_t, std::span<const float>) { return base::OkStatus(); };
  SUBMIX_RETURN_IF_ERROR(predictor.Score(tokens, 1, ignore));
  const auto start = Clock::now();
  SUBMIX_RETURN_IF_ERROR(predictor.Score(tokens, 1, ignore));
  return SecondsSince(start);
}

void Print(const Settings& settings, const char* what, int members, int sequences, double seconds,
           double rows) {
  std::printf(settings.json
                  ? "{\"benchmark\":\"torch_predictor\",\"what\":\"%s\",\"blas_core\":\"%s\","
                    "\"precision\":\"%s\",\"members\":%d,\"top_layers\":%d,\"sequences\":%d,"
                    "\"ms\":%.3f,\"rows_per_second\":%.0f}\n"
                  : "%s (%s, %s): %d members, %d top layers adapted (0: all), %d sequences: %.2f "
                    "ms, %.0f rows/s\n",
              what, train::BlasCoreName(), settings.bf16 ? "bf16" : "f32", members,
              settings.top_layers, sequences, 1e3 * seconds, rows / seconds);
  std::fflush(stdout);
}

base::Status Measure(const Settings& settings, int members) {
  SUBMIX_ASSIGN_OR_RETURN(const auto predictor, LoadPredictor(settings, members));
  for (const int sequences : settings.sequences) {
    SUBMIX_ASSIGN_OR_RETURN(const double seconds, StepSeconds(settings, *predictor, sequences));
    Print(settings, "step", members, sequences, seconds, sequences * (members + 1.0));
  }
  SUBMIX_ASSIGN_OR_RETURN(const double seconds, ScoreSeconds(settings, *predictor));
  Print(settings, "score", members, 1, seconds, (settings.document - 1) * (members + 1.0));
  return base::OkStatus();
}

int Run(int argc, char** argv) {
  Settings settings;
  CLI::App app{"Times the predictor by libtorch on a Hugging Face GPT-2 directory."};
  app.add_option("--model", settings.model, "the public model")->check(CLI::ExistingDirectory);
  app.add_option("--members", settings.members, "adapters")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber);
  app.add_option("--sequences", settings.sequences, "decoded together, one line each")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--top-layers", settings.top_layers, "adapted layers; 0 for all")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--rank", settings.rank, "of the adapters")->check(CLI::PositiveNumber);
  app.add_option("--prompt", settings.prompt, "tokens before the first step")
      ->check(CLI::PositiveNumber);
  app.add_option("--steps", settings.steps, "steps timed")->check(CLI::PositiveNumber);
  app.add_option("--document", settings.document, "tokens scored")->check(CLI::Range(2, 1 << 20));
  app.add_option("--threads", settings.threads, "0: one a processor")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--bf16", settings.bf16, "products in bfloat16");
  app.add_flag("--json", settings.json, "one JSON object a line");
  CLI11_PARSE(app, argc, argv);
  for (const int members : settings.members) {
    const base::Status status = Measure(settings, members);
    if (!status.ok()) {
      std::fprintf(stderr, "torch_predictor_benchmark: %s\n", status.ToString().c_str());
      return 1;
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
