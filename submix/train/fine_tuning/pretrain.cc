#include "submix/train/fine_tuning/pretrain.h"

#include <cmath>
#include <numbers>
#include <random>
#include <set>
#include <sstream>
#include <string_view>

#include "submix/base/file_system.h"
#include "submix/corpus/text_lines.h"
#include "submix/ensemble/preparation/ensemble_preparation.h"
#include "submix/model/decoder_tensors.h"
#include "submix/tokenizer/tokenizer.h"
#include "submix/train/fine_tuning/group_trainer.h"
#include "submix/train/numerics/torch_environment.h"
#include "submix/train/numerics/torch_errors.h"

namespace submix::train {
namespace {

constexpr double kInitialDeviation = 0.02;  // Hugging Face's initializer_range

base::Status CheckOptions(const PretrainOptions& options) {
  const auto refuse = [](const std::string& what) { return base::InvalidArgumentError(what); };
  const model::DecoderConfig& config = options.config;
  if (config.context_length < 1) return refuse("context_length: expected 1 or more");
  if (config.layers < 1) return refuse("layers: expected 1 or more");
  if (config.attention_heads < 1 || config.width < 1 ||
      config.width % config.attention_heads != 0) {
    return refuse("width: expected a multiple of attention_heads, found " +
                  std::to_string(config.width) + " and " + std::to_string(config.attention_heads));
  }
  if (config.family != "gpt2" && config.family != "llama") {
    return refuse("architecture: expected gpt2 or llama, found " + config.family);
  }
  const bool is_llama = config.family == "llama";
  if (!is_llama && config.num_key_value_heads() != config.attention_heads) {
    return refuse("key_value_heads: a gpt2 has as many as attention_heads");
  }
  if (config.attention_heads % config.num_key_value_heads() != 0) {
    return refuse("key_value_heads: expected a number that divides attention_heads");
  }
  if (is_llama && config.width_of_head() % 2 != 0) {
    return refuse("width: expected an even one for each of attention_heads, for rotary positions");
  }
  return CheckFineTuneOptions(options.training, config);
}

// GPT-2's start, and Llama's: normal weights, those into the residual stream smaller by sqrt(2 *
// layers); norms one, biases zero.
class WeightInitializer {
 public:
  WeightInitializer(const model::DecoderConfig& config, std::uint64_t seed)
      : residual_scale_(1 / std::sqrt(2.0 * config.layers)), generator_(seed) {
    for (int layer = 0; layer < config.layers; ++layer) {
      const model::LayerLinears linears = model::LinearsOfLayer(config, layer);
      into_residual_.insert(linears.attention_out.name + ".weight");
      into_residual_.insert(linears.mlp_out.name + ".weight");
    }
  }

  at::Tensor operator()(const ParameterVector& vector) {
    if (vector.shape.size() == 1) {
      const bool is_norm_weight = vector.name.ends_with(".weight");
      return is_norm_weight ? torch::ones(vector.shape) : torch::zeros(vector.shape);
    }
    const double deviation =
        kInitialDeviation * (into_residual_.contains(vector.name) ? residual_scale_ : 1.0);
    at::Tensor tensor = torch::empty(vector.shape);
    float* values = tensor.data_ptr<float>();
    for (std::int64_t i = 0; i < tensor.numel(); ++i) {
      values[i] = static_cast<float>(deviation * Normal());
    }
    return tensor;
  }

 private:
  // Box-Muller on our own uniforms: std::normal_distribution differs between libraries.
  double Normal() {
    const double u = (static_cast<double>(generator_() >> 11) + 0.5) * 0x1p-53;
    const double v = static_cast<double>(generator_() >> 11) * 0x1p-53;
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  }

  const double residual_scale_;
  std::set<std::string> into_residual_;  // weights
  std::mt19937_64 generator_;
};

// Rows of context_length + 1 tokens that overlap by one; what is left at the end is dropped.
std::vector<std::vector<base::TokenId>> CutIntoRows(std::span<const base::TokenId> tokens,
                                                    int context_length) {
  const auto step = static_cast<std::size_t>(context_length);
  std::vector<std::vector<base::TokenId>> rows;
  for (std::size_t begin = 0; begin + step < tokens.size(); begin += step) {
    const auto row = tokens.subspan(begin, step + 1);
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

std::string Identity(const PretrainOptions& options, const model::DecoderConfig& config) {
  std::ostringstream text;
  text.precision(17);
  text << "pretrain " << config.vocab_size << ' ' << config.context_length << ' ' << config.width
       << ' ' << config.layers << ' ' << config.attention_heads << ' ' << config.norm_epsilon << ' '
       << TrainingIdentity(options.training);
  if (config.family != "gpt2") text << ' ' << config.family << ' ' << config.key_value_heads;
  return text.str();
}

base::Status Train(const PretrainOptions& options, base::ProgressStyle style) {
  SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer,
                          tokenizer::Tokenizer::Load(options.tokenizer_directory));
  PublicModel start;
  start.config =
      options.config.family == "llama" ? model::LlamaOfSize(options.config) : options.config;
  start.config.vocab_size = tokenizer->vocab_size();
  start.config.end_of_text = tokenizer->end_of_text();
  start.config_json = model::DecoderConfigJson(start.config);
  MemberTask task;
  task.output_directory = base::CanonicalPath(options.output_directory);
  task.seed = options.seed;
  {
    SUBMIX_ASSIGN_OR_RETURN(const std::vector<base::TokenId> tokens,
                            ReadDocumentTokens(options.text_files, *tokenizer, options.max_tokens));
    task.blocks = CutIntoRows(tokens, options.config.context_length);
    if (task.blocks.empty()) {
      return base::InvalidArgumentError("the text has " + std::to_string(tokens.size()) +
                                        " tokens; one row needs " +
                                        std::to_string(options.config.context_length + 1));
    }
  }
  // From the start, so that the finished directory appears whole.
  SUBMIX_RETURN_IF_ERROR(
      ensemble::CopyTokenizer(options.tokenizer_directory, task.output_directory + ".partial"));
  WeightInitializer initialize(start.config, options.seed);
  for (const ParameterVector& vector : WeightVectors(start.config)) {
    start.tensors.push_back(initialize(vector));
  }
  SUBMIX_ASSIGN_OR_RETURN(
      const auto model, MakeMembers(start, std::nullopt, /*groups=*/1, options.training.precision));
  const std::string identity = Identity(options, start.config);
  const std::vector<TaskQueue> queues = {{&task}};
  base::ProgressBar progress("pre-training", PlannedUpdates(queues, options.training), "steps",
                             style);
  return GroupTrainer(*model, queues, options.training, identity)
      .Run(GroupTrainer::Progress::On(progress));
}

// Says "enough" to ReadLines; never reaches the caller.
base::Status Enough() { return base::UnavailableError("enough tokens"); }

}  // namespace

base::StatusOr<std::vector<base::TokenId>> ReadDocumentTokens(std::span<const std::string> paths,
                                                              const tokenizer::Tokenizer& tokenizer,
                                                              std::int64_t max_tokens) {
  std::vector<base::TokenId> tokens;
  const auto is_full = [&] { return max_tokens > 0 && std::ssize(tokens) >= max_tokens; };
  for (const std::string& path : paths) {
    const base::Status status =
        corpus::ReadDocuments(path, [&](std::string_view document) -> base::Status {
          SUBMIX_ASSIGN_OR_RETURN(const auto encoded, tokenizer.EncodePrompt(document));
          tokens.insert(tokens.end(), encoded.begin(), encoded.end());
          tokens.push_back(tokenizer.end_of_text());
          return is_full() ? Enough() : base::OkStatus();
        });
    if (is_full()) break;
    SUBMIX_RETURN_IF_ERROR(status);
  }
  if (is_full()) tokens.resize(static_cast<std::size_t>(max_tokens));
  return tokens;
}

PretrainOptions::PretrainOptions() {
  training.lora.reset();
  training.learning_rate = {
      .peak = 1.5e-3, .warmup_fraction = 0.03, .decay = Decay::kCosine, .final_fraction = 0.1};
  training.adamw = {.beta1 = 0.9, .beta2 = 0.95, .weight_decay = 0.1};
}

base::Status Pretrain(const PretrainOptions& given, base::ProgressStyle progress) {
  PretrainOptions options = given;
  options.training.block_tokens = options.config.context_length + 1;
  SUBMIX_RETURN_IF_ERROR(CheckOptions(options));
  if (base::FileExists(options.output_directory)) {
    return base::AlreadyExistsError(options.output_directory + ": exists already");
  }
  SUBMIX_RETURN_IF_ERROR(SetTorchThreads(options.training.threads));
  return CatchTorchErrors([&] { return Train(options, progress); });
}

}  // namespace submix::train
