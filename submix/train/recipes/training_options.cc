#include "submix/train/recipes/training_options.h"

#include <algorithm>
#include <string>

#include "submix/base/number_text.h"
#include "submix/train/recipes/training_options_table.h"

namespace submix::train {
namespace {

constexpr double kMostAlpha = 1e6;
// Least of a number that must be more than 0.
constexpr double kLeast = 1e-20;

}  // namespace

base::Status CheckRange(std::string_view option, double value, double least, double most,
                        std::string_view most_in_words) {
  if (value >= least && value <= most) return base::OkStatus();
  const auto text = [](double number) { return base::NumberText(number, /*digits=*/9); };
  std::string range = text(least) + " to " + text(most);
  if (!most_in_words.empty()) range += " (" + std::string(most_in_words) + ")";
  return base::InvalidArgumentError(std::string(option) + ": expected " + range + ", found " +
                                    text(value));
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
  SUBMIX_RETURN_IF_ERROR(CheckNumbers(options, config));
  return CheckAdapterOptions(options.lora, config);
}

base::Status CheckBlocks(std::span<const std::vector<corpus::StreamToken>> blocks,
                         const TrainingOptions& options, const model::DecoderConfig& config) {
  for (const std::vector<corpus::StreamToken>& block : blocks) {
    // How long it is, is the user's.
    if (block.size() > static_cast<std::size_t>(options.block_tokens)) {
      return base::InvalidArgumentError("a block is longer than " +
                                        std::to_string(options.block_tokens) +
                                        " tokens (block_tokens)");
    }
    if (std::ranges::any_of(block, [&](corpus::StreamToken token) {
          return corpus::IdOf(token) >= config.vocab_size;
        })) {
      return base::InvalidArgumentError("token ids outside the model's vocabulary of " +
                                        std::to_string(config.vocab_size) +
                                        "; was the text encoded by another tokenizer?");
    }
  }
  return base::OkStatus();
}

}  // namespace submix::train
