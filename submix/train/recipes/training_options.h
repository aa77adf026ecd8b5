// What every training of a model is told, private or not, and what it refuses. The numbers are rows
// of training_options_table.h. Torch-free.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "submix/base/status.h"
#include "submix/corpus/counted_tokens.h"
#include "submix/model/lora_adapter.h"
#include "submix/train/recipes/optimiser_options.h"
#include "submix/train/recipes/precision.h"

namespace submix::train {

// Of what layers that never change say of a text (models/frozen_states.h).
struct FrozenStatesBounds {
  std::int64_t most_bytes = std::int64_t{4} << 30;        // of one object
  std::int64_t least_free_bytes = std::int64_t{1} << 30;  // of the disk, left to checkpoints
};

struct TrainingOptions {
  std::optional<model::LoraConfig> lora = model::LoraConfig{};  // none: all weights are trained
  int block_tokens = 129;  // of the longest block; a model reads one fewer; in [2, n + 1]
  LearningRateSchedule learning_rate;
  AdamWOptions adamw;
  Precision precision = Precision::kFloat32;  // of the matrix products
  int threads = 0;                            // 0: all processors
  // What later passes start from, a member; changes no bit.
  FrozenStatesBounds frozen_states;
  // Polled before every update; true ends the training there.
  std::function<bool()> should_stop;
};

// Updates, rows and passes beyond which a number is a mistake; products of them stay exact.
inline constexpr double kMostEpochs = 1 << 20;
inline constexpr double kMostRows = 1 << 16;

// Errors: kInvalidArgument unless least <= value <= most, naming all four, and what `most` is.
base::Status CheckRange(std::string_view option, double value, double least, double most,
                        std::string_view most_in_words = {});

// Errors: kInvalidArgument for targets and layers that the model lacks, a rank beyond the width of
// all that it adapts, and an alpha out of range.
base::Status CheckAdapterOptions(const std::optional<model::LoraConfig>& lora,
                                 const model::DecoderConfig& config);

// Errors: kInvalidArgument for numbers out of range; those of CheckAdapterOptions.
base::Status CheckTrainingOptions(const TrainingOptions& options,
                                  const model::DecoderConfig& config);

// Errors: kInvalidArgument for blocks of more than block_tokens tokens, or token ids outside the
// model's vocabulary.
base::Status CheckBlocks(std::span<const std::vector<corpus::StreamToken>> blocks,
                         const TrainingOptions& options, const model::DecoderConfig& config);

}  // namespace submix::train
