// DP-SGD (Abadi et al. 2016; McMahan et al. 2018 for users): every step draws the users of its
// batch by independent coins, clips each user's gradient, adds Gaussian noise, and is paid for in a
// durable account before the noise is drawn. What comes out is (epsilon, delta)-differentially
// private for adding or removing one user, weights in between included, and may be used without
// limit. Torch-free header. Theorem and assumptions: docs/privacy.md, Theorem 14.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "submix/accounting/calculators/step_budget.h"
#include "submix/base/progress_bar.h"
#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/train/recipes/training_options.h"

namespace submix::train {

// All of it is public: no number may come from the private text.
struct DpSgdOptions : TrainingOptions {
  double clip_norm = 0.1;  // L2, of the gradient of a user's mean loss
  // The sum of clipped gradients is divided by this: the sampling probability times a public number
  // of users. Not the size of the batch that was drawn, which is private.
  double expected_batch = 1;
  std::int64_t steps = 0;          // wanted, 1 or more; the budget may hold fewer
  int blocks_at_a_time = 8;        // of one user, through the model: memory and speed
  double checkpoint_seconds = 60;  // what a crash can lose; 0: a checkpoint a step
};

// Errors: kInvalidArgument for options out of range, or that the model cannot have.
base::Status CheckDpSgdOptions(const DpSgdOptions& options, const model::DecoderConfig& config);

// A user, or another unit whose presence is protected: the blocks of all its text.
using TrainingUnit = std::vector<std::vector<corpus::StreamToken>>;

struct DpSgdTask {
  // The adapter's (PEFT) or, without LoRA, the model's (Hugging Face) directory. It appears, whole,
  // when the training is done; "DIRECTORY.partial" holds the checkpoint until then.
  std::string output_directory;
  std::string account_directory;  // training_account.h
  std::vector<TrainingUnit> units;
};

struct DpSgdResult {
  std::int64_t steps = 0;          // in the weights
  std::int64_t steps_charged = 0;  // and those that interruptions lost
};

// Trains until `steps` are done or the budget holds no further one; if the output directory exists,
// says what was done. An interrupted training goes on
// from its last checkpoint: steps since then stay paid, and are drawn anew. Every unit is in a
// step's batch with probability `budget.step().sampling_probability` rounded down to a multiple of
// 2^-53, independently of everything; `random` decides that and the noise. Units without a block
// that predicts something never move a gradient. Errors: those of reading the public model and of
// the account; kInvalidArgument for options out of range, blocks that are too long or token ids
// outside the model's vocabulary; kFailedPrecondition for a checkpoint of another training, and for
// weights that are not finite, of which no further step is charged; kDataLoss if the account knows
// of fewer steps than the checkpoint; kUnavailable if should_stop said so.
base::StatusOr<DpSgdResult> TrainDpSgd(const std::string& public_directory, const DpSgdTask& task,
                                       const DpSgdOptions& options,
                                       const accounting::StepBudget& budget,
                                       base::RandomSource& random, base::ProgressStyle progress);

}  // namespace submix::train
