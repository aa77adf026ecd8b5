// What one token costs: the public model and an ensemble over it, for rows of one and many,
// contexts short and long, on random weights of any config.json's shape or a model from disk. One
// JSON object a line. `members` counts rows: the public model and members - 1 adapters.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "benchmarks/machine_limits.h"
#include "benchmarks/work_directory.h"
#include "submix/base/file_system.h"
#include "submix/base/for_each.h"
#include "submix/base/random.h"
#include "submix/decode/cpu_predictor.h"
#include "submix/mechanism/mapped_predictions.h"
#include "submix/mechanism/operator_view.h"
#include "submix/mechanism/research/any_mechanism.h"
#include "submix/model/decoder_config.h"
#include "submix/model/decoder_tensors.h"
#include "submix/model/lora_adapter.h"
#include "submix/model/safetensors.h"

namespace submix {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::string model;   // empty: random weights
  std::string config;  // of these; empty: GPT-2's small shape
  std::vector<int> members = {1, 17, 33, 65, 129};
  std::vector<int> contexts = {64, 512};
  std::vector<std::string> precisions = {"bf16"};
  std::vector<std::string> adapters = {"all", "top4"};
  std::vector<std::string> caches = {"auto"};
  std::vector<int> sequences = {1};
  int rank = 8;
  int steps = 15;
  int threads = 0;
  mechanism::SamplingOptions sampling;
  bool json = false;
};

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Uniform in [-size, size): its values do not matter, only that they are no zeros.
std::vector<float> RandomValues(std::size_t count, float size) {
  static std::uint64_t state = 1;
  std::vector<float> values(count);
  for (float& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = size * (static_cast<float>(state >> 40) * 0x1p-23f - 1);
  }
  return values;
}

model::DecoderConfig Gpt2Small() {
  model::DecoderConfig config;
  config.vocab_size = 50257;
  config.context_length = 1024;
  config.width = 768;
  config.layers = 12;
  config.attention_heads = 12;
  config.end_of_text = 50256;
  return config;
}

// Random weights of a config.json's shape, or of GPT-2's small one.
base::Status WriteRandomModel(const std::string& config_file, const std::string& directory) {
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(directory));
  std::string text = model::DecoderConfigJson(Gpt2Small());
  if (!config_file.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(text, base::ReadFile(config_file));
  }
  const std::string path = base::JoinPath(directory, "config.json");
  SUBMIX_RETURN_IF_ERROR(base::WriteFile(path, text));
  SUBMIX_ASSIGN_OR_RETURN(const model::DecoderConfig config, model::LoadDecoderConfig(path));
  std::vector<model::NamedTensor> tensors;
  std::vector<std::vector<float>> values;
  for (const model::DecoderTensor& tensor : model::DecoderTensors(config)) {
    const auto count = std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1},
                                       std::multiplies<>());
    const bool is_matrix = tensor.shape.size() > 1;
    values.push_back(RandomValues(static_cast<std::size_t>(count), is_matrix ? 0.05f : 1.0f));
    tensors.push_back({model::FullName(config, tensor), tensor.shape, {}});
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].values = values[i];
  return model::WriteSafetensors(base::JoinPath(directory, "model.safetensors"), tensors,
                                 model::Dtype::kBf16, {});
}

// PEFT's defaults: rank 8 on c_attn of a GPT-2, on q_proj and v_proj of others.
base::Status WriteAdapter(const Settings& settings, const model::DecoderConfig& config,
                          bool is_top4, const std::string& directory) {
  model::LoraAdapter adapter;
  adapter.config.rank = settings.rank;
  if (config.family != "gpt2") adapter.config.target_modules = {"q_proj", "v_proj"};
  for (int i = 4; is_top4 && i >= 1; --i) adapter.config.layers.push_back(config.layers - i);
  SUBMIX_ASSIGN_OR_RETURN(adapter.modules, model::AdaptedModules(config, adapter.config));
  for (model::LoraModule& module : adapter.modules) {
    const auto rank = static_cast<std::size_t>(settings.rank);
    module.a = RandomValues(rank * static_cast<std::size_t>(module.inputs), 0.02f);
    module.b = RandomValues(rank * static_cast<std::size_t>(module.outputs), 0.02f);
  }
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(directory));
  return model::SaveLoraAdapter(adapter, config, directory);
}

// Resident memory in MiB, now or at its highest since ResetPeak.
double ResidentMiB(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::stod(line.substr(field.size())) / 1024;
  }
  return 0;
}
void ResetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }

// From logits to a drawn token, a part a pair of members; without members the public model's draw.
class PrivateDraw {
 public:
  static base::StatusOr<PrivateDraw> Make(int members) {
    PrivateDraw draw;
    mechanism::MechanismOptions options;
    options.num_parts = std::max(1, (members - 1) / 2);
    options.name = members > 2 ? "filtered-submix" : "public";
    draw.halves_ = members > 2 ? 2 : 1;
    draw.used_members_ = members > 2 ? (members - 1) / 2 * 2 : 1;
    SUBMIX_ASSIGN_OR_RETURN(options.order, divergence::RenyiOrder::Parse("2"));
    options.target_leakage = 2.0 / 1024;
    SUBMIX_ASSIGN_OR_RETURN(draw.mechanism_, mechanism::MakeAnyMechanism(options));
    draw.remaining_.assign(static_cast<std::size_t>(options.num_parts),
                           accounting::FixedNats::RoundDown(2));
    draw.random_ = base::MakeSystemRandomSource();
    return draw;
  }

  base::Status Draw(std::span<const float> logits, std::size_t vocab,
                    const mechanism::SamplingOptions& sampling, const base::ForEach& for_each) {
    const auto public_logits = logits.first(vocab);
    const auto member_logits =
        halves_ == 2 ? logits.subspan(vocab, static_cast<std::size_t>(used_members_) * vocab)
                     : public_logits;
    SUBMIX_RETURN_IF_ERROR(mapped_.Map(public_logits, member_logits, halves_, sampling,
                                       mechanism_->log_ratio_range(), for_each));
    SUBMIX_ASSIGN_OR_RETURN(auto proposal,
                            mechanism_->Propose(mapped_.view(for_each), remaining_, {}));
    const auto mixture =
        std::move(*proposal).Mix(std::vector<bool>(remaining_.size(), true), *random_);
    drawn_ += mechanism::OperatorView::Draw(mixture, *random_);
    return base::OkStatus();
  }

 private:
  int halves_ = 1;
  int used_members_ = 1;
  std::unique_ptr<mechanism::Mechanism> mechanism_;
  mechanism::MappedPredictions mapped_;
  std::vector<accounting::FixedNats> remaining_;
  std::unique_ptr<base::RandomSource> random_;
  std::size_t drawn_ = 0;
};

struct Case {
  int members = 1;
  int context = 64;
  decode::Precision precision = decode::Precision::kBfloat16;
  std::string adapters = "all";
  std::string cache = "auto";
  int sequences = 1;
};

struct Measured {
  double step_ms = 0;       // one token of every sequence, models alone
  double mechanism_ms = 0;  // one token of one sequence
  double prefill_ms = 0;    // the prompts of all sequences
};

// Weights that a step reads once, and keys and values that it reads.
double BytesOfStep(const Case& c, const decode::CpuPredictor& predictor) {
  const decode::CpuPredictorMemory memory = predictor.memory();
  return static_cast<double>(memory.weights + memory.adapters) +
         static_cast<double>(memory.cache_per_16_tokens) * c.sequences * c.context / 16;
}

// Multiplications and additions of the prompts' products, of attention and adapters none; below the
// first adapted layer all rows are one.
double OperationsOfPrompt(const Case& c, const model::DecoderConfig& config) {
  const int shared_layers = c.adapters == "top4" ? std::max(0, config.layers - 4) : 0;
  double operations = 0;
  for (const model::LinearLayer& linear : model::LinearLayers(config)) {
    const int rows = linear.layer < shared_layers ? 1 : c.members;
    operations += 2.0 * linear.inputs * linear.outputs * rows * c.context;
  }
  operations += 2.0 * config.width * config.vocab_size * c.members;  // after the last token alone
  return operations * c.sequences;
}

struct Limits {
  double bandwidth = 0;  // bytes a second
  double peak = 0;       // operations a second
};

base::StatusOr<Measured> MeasureCase(const Settings& settings, const Case& c,
                                     decode::CpuPredictor& predictor) {
  const auto vocab = static_cast<std::size_t>(predictor.vocab_size());
  std::vector<base::TokenId> prompt(static_cast<std::size_t>(c.context));
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    prompt[i] = static_cast<base::TokenId>(i * 7919 % vocab);
  }
  const std::vector<base::TokenId> one = {5};
  std::vector<ensemble::Predictor::Append> appends;
  for (int i = 0; i < c.sequences; ++i) appends.push_back({predictor.Open(), prompt});
  std::vector<float> logits(static_cast<std::size_t>(c.sequences * c.members) * vocab);
  SUBMIX_ASSIGN_OR_RETURN(PrivateDraw draw, PrivateDraw::Make(c.members));

  Measured measured;
  auto start = Clock::now();
  SUBMIX_RETURN_IF_ERROR(predictor.Step(appends, logits));
  measured.prefill_ms = MillisecondsSince(start);
  for (auto& append : appends) append.tokens = one;
  SUBMIX_RETURN_IF_ERROR(predictor.Step(appends, logits));
  const base::ForEach for_each = [&](int count, const std::function<void(int)>& body) {
    predictor.ForEach(count, body);
  };
  std::vector<double> step_ms, mechanism_ms;
  for (int i = 0; i < settings.steps; ++i) {
    start = Clock::now();
    SUBMIX_RETURN_IF_ERROR(predictor.Step(appends, logits));
    step_ms.push_back(MillisecondsSince(start));
    start = Clock::now();
    SUBMIX_RETURN_IF_ERROR(
        draw.Draw(std::span(logits).first(static_cast<std::size_t>(c.members) * vocab), vocab,
                  settings.sampling, for_each));
    mechanism_ms.push_back(MillisecondsSince(start));
  }
  measured.step_ms = Median(step_ms);
  measured.mechanism_ms = Median(mechanism_ms);
  for (const auto& append : appends) predictor.Close(append.sequence);
  return measured;
}

void Print(const Settings& settings, const Case& c, const Measured& measured,
           const decode::CpuPredictor& predictor, const model::DecoderConfig& config,
           const Limits& limits) {
  const double bytes_ms = 1e3 * BytesOfStep(c, predictor) / limits.bandwidth;
  const double prompt_share =
      OperationsOfPrompt(c, config) / (1e-3 * measured.prefill_ms * limits.peak);
  const decode::CpuPredictorMemory memory = predictor.memory();
  const double ms_per_token = measured.step_ms / c.sequences + measured.mechanism_ms;
  std::printf(
      settings.json
          ? "{\"members\":%d,\"context\":%d,\"precision\":\"%s\",\"adapters\":\"%s\",\"cache\":\"%"
            "s\","
            "\"sequences\":%d,\"ms_per_step\":%.3f,\"ms_per_token\":%.3f,\"tokens_per_s\":%.1f,"
            "\"mechanism_ms\":%.3f,\"prefill_ms\":%.1f,\"prefill_share_of_peak\":%.3f,"
            "\"peak_gflop_s\":%.1f,\"ms_to_read_bytes\":%.3f,\"bandwidth_gb_s\":%.1f,"
            "\"weight_mib\":%.1f,\"adapter_mib\":%.2f,"
            "\"cache_kib_per_token\":%.1f,\"peak_mib\":%.0f}\n"
          : "%4d rows, context %4d, %s, %s, cache %s, %2d sequences: %.2f ms a step, %.2f ms a "
            "private token "
            "(%.1f/s), mechanism %.2f ms; prompt %.0f ms, its products %.2f of %.1f GFLOP/s; bytes "
            "of a step alone %.2f ms at %.1f GB/s; weights %.1f MiB, adapters %.2f MiB, cache %.1f "
            "KiB a token, peak %.0f MiB\n",
      c.members, c.context, std::string(decode::PrecisionName(c.precision)).c_str(),
      c.adapters.c_str(), c.cache.c_str(), c.sequences, measured.step_ms, ms_per_token,
      1e3 / ms_per_token, measured.mechanism_ms, measured.prefill_ms, prompt_share,
      1e-9 * limits.peak, bytes_ms, 1e-9 * limits.bandwidth,
      static_cast<double>(memory.weights) / 0x1p20, static_cast<double>(memory.adapters) / 0x1p20,
      static_cast<double>(memory.cache_per_16_tokens) / 16 / 1024, ResidentMiB("VmHWM:"));
  std::fflush(stdout);
}

base::Status MeasureEnsemble(const Settings& settings, const std::string& directory,
                             const WorkDirectory& work, Case c, const Limits& limits) {
  ResetPeak();
  SUBMIX_ASSIGN_OR_RETURN(const model::DecoderConfig config,
                          model::LoadDecoderConfig(base::JoinPath(directory, "config.json")));
  decode::CpuPredictorOptions options;
  options.public_directory = directory;
  options.precision = c.precision;
  options.has_byte_cache = c.cache == "int8";
  options.threads = settings.threads;
  options.cache_directory = work.File("cache");
  for (int m = 1; m < c.members; ++m) {
    options.member_directories.push_back(work.File("member" + std::to_string(m)));
    SUBMIX_RETURN_IF_ERROR(
        WriteAdapter(settings, config, c.adapters == "top4", options.member_directories.back()));
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto predictor, decode::CpuPredictor::Load(options));
  for (const int context : settings.contexts) {
    for (const int sequences : settings.sequences) {
      c.context = std::min(context, config.context_length - settings.steps - 2);
      c.sequences = sequences;
      SUBMIX_ASSIGN_OR_RETURN(const Measured measured, MeasureCase(settings, c, *predictor));
      Print(settings, c, measured, *predictor, config, limits);
    }
  }
  return base::OkStatus();
}

// From the call of Load to the first logits, packing and with packed weights in the cache.
base::Status MeasureStart(const Settings& settings, const std::string& directory,
                          const WorkDirectory& work, decode::Precision precision) {
  for (const char* what : {"packing", "cached"}) {
    decode::CpuPredictorOptions options;
    options.public_directory = directory;
    options.precision = precision;
    options.threads = settings.threads;
    options.cache_directory = work.File("cache");
    const auto start = Clock::now();
    SUBMIX_ASSIGN_OR_RETURN(const auto predictor, decode::CpuPredictor::Load(options));
    std::vector<float> logits(static_cast<std::size_t>(predictor->vocab_size()));
    const std::vector<base::TokenId> tokens = {1, 2, 3};
    const std::vector<ensemble::Predictor::Append> appends = {{predictor->Open(), tokens}};
    SUBMIX_RETURN_IF_ERROR(predictor->Step(appends, logits));
    std::printf(settings.json
                    ? "{\"what\":\"start to first token\",\"weights\":\"%s\",\"precision\":\"%s\","
                      "\"ms\":%.1f}\n"
                    : "start to first token, %s, %s: %.0f ms\n",
                what, std::string(decode::PrecisionName(precision)).c_str(),
                MillisecondsSince(start));
  }
  return base::OkStatus();
}

base::Status Measure(const Settings& settings) {
  const WorkDirectory work("decode_benchmark");
  std::string directory = settings.model;
  if (directory.empty()) {
    directory = work.File("random");
    SUBMIX_RETURN_IF_ERROR(WriteRandomModel(settings.config, directory));
  }
  const int threads = settings.threads > 0 ? settings.threads
                                           : static_cast<int>(std::thread::hardware_concurrency());
  for (const std::string& name : settings.precisions) {
    SUBMIX_ASSIGN_OR_RETURN(const decode::Precision precision, decode::ParsePrecision(name));
    SUBMIX_RETURN_IF_ERROR(MeasureStart(settings, directory, work, precision));
    const Limits limits{MeasureBandwidth(threads), MeasurePeak(precision, threads)};
    for (const std::string& adapters : settings.adapters) {
      for (const int members : settings.members) {
        for (const std::string& cache : settings.caches) {
          SUBMIX_RETURN_IF_ERROR(MeasureEnsemble(
              settings, directory, work, {members, 0, precision, adapters, cache, 1}, limits));
        }
      }
    }
  }
  return base::OkStatus();
}

int Run(int argc, char** argv) {
  Settings settings;
  CLI::App app{"Times one token of a public model and an ensemble over it; medians."};
  CLI::Option* const model =
      app.add_option("--model", settings.model, "directory; default: random weights");
  app.add_option("--config", settings.config,
                 "config.json of the random weights; default: GPT-2's small shape")
      ->excludes(model);
  app.add_option("--members", settings.members, "rows: the public model and the adapters over it")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--context", settings.contexts, "tokens before the one that is timed")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--precision", settings.precisions, "f32, bf16, int8, int4")->delimiter(',');
  app.add_option("--adapters", settings.adapters, "all: in every layer; top4: the highest four")
      ->delimiter(',')
      ->check(CLI::IsMember({"all", "top4"}));
  app.add_option("--kv-cache", settings.caches, "of keys and values: auto, int8")
      ->delimiter(',')
      ->check(CLI::IsMember({"auto", "int8"}));
  app.add_option("--sequences", settings.sequences, "at a time")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--rank", settings.rank, "of the adapters")->check(CLI::PositiveNumber);
  app.add_option("--steps", settings.steps, "tokens timed")->check(CLI::PositiveNumber);
  app.add_option("--threads", settings.threads, "0: all processors");
  app.add_option("--top-k", settings.sampling.top_k,
                 "tokens that the mechanism mixes, the public model's likeliest; 0: all");
  app.add_flag("--json", settings.json, "one JSON object a line");
  CLI11_PARSE(app, argc, argv);
  const base::Status status = Measure(settings);
  if (status.ok()) return 0;
  std::fprintf(stderr, "decode_benchmark: %s\n", status.ToString().c_str());
  return 1;
}

}  // namespace
}  // namespace submix

int main(int argc, char** argv) { return submix::Run(argc, argv); }
