// What the training of a member, or a pre-training, is told. Torch-free.
#pragma once

#include <cstdint>

#include "submix/base/status.h"
#include "submix/train/recipes/training_options.h"

namespace submix::train {

struct FineTuneOptions : TrainingOptions {
  int epochs = 1;
  int batch_size = 8;          // blocks an update; they are padded to block_tokens
  double gradient_clip = 1.0;  // on a member's gradient norm; 0 for none
  // LoRA only: members trained in one batch over the shared frozen weights. More than one pays off
  // where a single member's batch is small. Public: it decides the shapes.
  int members_at_a_time = 1;
  std::int64_t checkpoint_every = 200;  // updates; 0 for never
};

// Errors: kInvalidArgument for options out of range.
base::Status CheckFineTuneOptions(const FineTuneOptions& options,
                                  const model::DecoderConfig& config);

}  // namespace submix::train
