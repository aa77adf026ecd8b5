// From a user-keyed corpus to a model trained with differential privacy, and the directory it lies
// in: an ensemble of one part, so that every command that takes an ensemble takes it. Resumable.
// Torch-free.
//
//     ENSEMBLE/public/      the public model that it started from
//     ENSEMBLE/members/00/  the adapter (PEFT) or, with all weights trained, the whole model
//     ENSEMBLE/training/    the ledger of the training: account "training"
//     ENSEMBLE/released/    what may leave: an ensemble whose public model is the private one with
//                           its adapter merged in, and private_training.json, which says what it
//                           cost; its one member adapts nothing
#pragma once

#include <cstdint>
#include <string>

#include "submix/accounting/privacy_statement.h"
#include "submix/accounting/rdp_conversion.h"
#include "submix/base/progress_bar.h"
#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/corpus/record_encoder.h"
#include "submix/corpus/user_records.h"
#include "submix/train/private_training/dp_sgd.h"

namespace submix::train {

struct PrivateTrainingOptions {
  std::string public_directory;  // Hugging Face's layout, with its tokenizer
  corpus::CorpusFile corpus;
  std::string ensemble_directory;  // new, or one that an interrupted run of the same options left
  std::string partition_key_path;  // decides who is held out; empty: a fresh secret key
  double heldout_fraction = 0.1;
  // Whose presence is protected: a user with all texts, or one text (kTrainingExample).
  accounting::PrivacyUnit unit = accounting::PrivacyUnit::kUserKey;
  std::int64_t tokens_per_user = 0;  // the first so many of each; 0: all; not with documents
  corpus::Loss loss = corpus::Loss::kAnswers;  // of conversations
  // A public number of units, such as one that was published. The share of the units in a step's
  // batch is training.expected_batch over this. 0: as many as there are; that count is then treated
  // as public, which the report says.
  std::int64_t public_units = 0;
  // Standard deviation of the noise over the clipping norm. 0: the least with which the target pays
  // for all steps.
  double noise_multiplier = 0;
  accounting::EpsilonBound target = {8, accounting::kDefaultDelta};
  double epochs = 1;  // expected passes over the units, if training.steps is 0
  // expected_batch: units a step; 0: an eighth of them, 80 steps in ten passes.
  DpSgdOptions training;
};

struct PrivateTrainingReport {
  accounting::PrivacyStatement statement;
  double epsilon = 0;  // at the target's delta, after steps_charged
  double sampling_probability = 0;
  double noise_multiplier = 0;
  double expected_batch = 0;
  std::int64_t public_units = 0;
  bool units_were_counted = false;  // public_units is the corpus's own count
  std::int64_t steps_wanted = 0;
  std::int64_t steps = 0;          // in the weights
  std::int64_t steps_charged = 0;  // and those that interruptions lost
};

// Trains, or goes on, or reports what was trained. Products pass MakeSystemRandomSource. Errors:
// those of the corpus, of StepBudget::Plan and of TrainDpSgd; kInvalidArgument for an expected
// batch above the number of units; kFailedPrecondition if the directory holds an ensemble of other
// options, or the public model was itself trained privately; kUnavailable if somebody else writes
// it.
base::StatusOr<PrivateTrainingReport> TrainPrivately(const PrivateTrainingOptions& options,
                                                     base::RandomSource& random,
                                                     base::ProgressStyle progress);

}  // namespace submix::train
