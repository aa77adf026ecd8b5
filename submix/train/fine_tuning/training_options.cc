#include "submix/train/fine_tuning/training_options.h"

#include <algorithm>
#include <string>

namespace submix::train {

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

base::Status CheckTrainingOptions(const TrainingOptions& options,
                                  const model::DecoderConfig& config) {
  if (!(options.learning_rate.peak > 0)) {
    return base::InvalidArgumentError("learning rate: expected more than 0");
  }
  if (options.block_tokens < 2 || options.block_tokens > config.context_length + 1) {
    return base::InvalidArgumentError(
        "block_tokens: expected 2 to " + std::to_string(config.context_length + 1) +
        " (the model's context and one), found " + std::to_string(options.block_tokens));
  }
  return base::OkStatus();
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
