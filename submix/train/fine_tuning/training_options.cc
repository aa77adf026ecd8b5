#include "submix/train/fine_tuning/training_options.h"

#include <algorithm>
#include <string>

#include "submix/base/number_text.h"

namespace submix::train {
namespace {

// Most that AdamW's rate and alpha may be, far above what trains anything.
constexpr double kMostRate = 1;
constexpr double kMostAlpha = 1e6;
constexpr double kMostThreads = 4096;
// Least of a number that must be more than 0.
constexpr double kLeast = 1e-20;

}  // namespace

base::Status CheckRange(const char* option, double value, double least, double most) {
  if (value >= least && value <= most) return base::OkStatus();
  const auto text = [](double number) { return base::NumberText(number, /*digits=*/9); };
  return base::InvalidArgumentError(std::string(option) + ": expected " + text(least) + " to " +
                                    text(most) + ", found " + text(value));
}

std::vector<double> IdentityNumbers(const TrainingOptions& options) {
  const LearningRateSchedule& rate = options.learning_rate;
  const AdamWOptions& adamw = options.adamw;
  return {static_cast<double>(options.block_tokens),
          rate.peak,
          rate.warmup_fraction,
          static_cast<double>(rate.warmup_steps),
          static_cast<double>(rate.decay),
          rate.final_fraction,
          adamw.beta1,
          adamw.beta2,
          adamw.denominator_floor,
          adamw.weight_decay};
}

base::Status CheckAdapterOptions(const std::optional<model::LoraConfig>& lora,
                                 const model::DecoderConfig& config) {
  if (!lora.has_value()) return base::OkStatus();
  SUBMIX_ASSIGN_OR_RETURN(const auto modules, model::AdaptedModules(config, *lora));
  int widest = 1;
  for (const model::LoraModule& module : modules) {
    widest = std::max({widest, module.inputs, module.outputs});
  }
  SUBMIX_RETURN_IF_ERROR(CheckRange("rank", lora->rank, 1, widest));
  return CheckRange("lora_alpha", lora->lora_alpha, kLeast, kMostAlpha);
}

base::Status CheckTrainingOptions(const TrainingOptions& options,
                                  const model::DecoderConfig& config) {
  const LearningRateSchedule& rate = options.learning_rate;
  SUBMIX_RETURN_IF_ERROR(CheckRange("learning_rate", rate.peak, kLeast, kMostRate));
  SUBMIX_RETURN_IF_ERROR(CheckRange("warmup_fraction", rate.warmup_fraction, 0, 1));
  // An update multiplies weights by 1 - rate * decay.
  SUBMIX_RETURN_IF_ERROR(CheckRange("weight_decay", options.adamw.weight_decay, 0, 1 / rate.peak));
  SUBMIX_RETURN_IF_ERROR(CheckRange("threads", options.threads, 0, kMostThreads));
  if (options.block_tokens < 2 || options.block_tokens > config.context_length + 1) {
    return base::InvalidArgumentError(
        "block_tokens: expected 2 to " + std::to_string(config.context_length + 1) +
        " (the model's context and one), found " + std::to_string(options.block_tokens));
  }
  return CheckAdapterOptions(options.lora, config);
}

base::Status CheckBlocks(std::span<const std::vector<base::TokenId>> blocks,
                         const TrainingOptions& options, const model::DecoderConfig& config) {
  for (const std::vector<base::TokenId>& block : blocks) {
    // How long it is, is the user's.
    if (block.size() > static_cast<std::size_t>(options.block_tokens)) {
      return base::InvalidArgumentError("a block is longer than " +
                                        std::to_string(options.block_tokens) +
                                        " tokens (block_tokens)");
    }
    if (std::ranges::any_of(block,
                            [&](base::TokenId id) { return id < 0 || id >= config.vocab_size; })) {
      return base::InvalidArgumentError("token ids outside the model's vocabulary of " +
                                        std::to_string(config.vocab_size) +
                                        "; was the text encoded by another tokenizer?");
    }
  }
  return base::OkStatus();
}

}  // namespace submix::train
