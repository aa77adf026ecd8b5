// From a user-keyed corpus to an ensemble directory (SubMix Algorithm 1): partition by keyed hash,
// one member for each half, manifest with hashes. A member without text is the public model, in
// files of the same shape as any other's. Resumable: finished members are kept, an unfinished one
// goes on at its last checkpoint.
#pragma once

#include <cstdint>
#include <string>

#include "submix/base/progress_bar.h"
#include "submix/base/status.h"
#include "submix/corpus/partition.h"
#include "submix/corpus/record_encoder.h"
#include "submix/corpus/user_records.h"
#include "submix/train/fine_tuning/fine_tune.h"
#include "submix/train/fine_tuning/ranks.h"

namespace submix::train {

struct EnsembleTrainingOptions {
  std::string public_directory;  // Hugging Face's layout, with its tokenizer
  corpus::CorpusFile corpus;
  std::string ensemble_directory;  // new, or one that an interrupted run of the same options left
  corpus::PartitionOptions partition;
  // 32 bytes; empty: a fresh secret key (or the one that the interrupted run drew).
  std::string partition_key_path;
  // Members whose text, options and base equal those of a complete member here are copied instead
  // of trained anew; empty: none.
  std::string reuse_directory;
  FineTuneOptions fine_tune;
  std::int64_t tokens_per_user = 0;  // that members read: the first so many of each; 0: all
  corpus::Loss loss = corpus::Loss::kAnswers;  // of conversations
  // Where the public model was trained privately (private_training.json): no user of this corpus
  // was among its users. Then the losses are not added. Refused where it was not.
  bool public_trained_on_others = false;
  // Whom the members are spread over: this process is the root, the others are in ServeMembers,
  // with the same fine_tune. Null: this process alone. The members' bits do not depend on it.
  Ranks* ranks = nullptr;
};

// Trains what is missing. Errors: before anything is written, those of the public model and of
// CheckFineTuneOptions; those of the corpus and of FineTuneMembers; kFailedPrecondition
// if the directory holds an ensemble of other options; kResourceExhausted on a full disk (run it
// again to go on); kUnavailable if somebody else writes it. After an error the other ranks wait,
// and are to be ended.
base::Status TrainEnsemble(const EnsembleTrainingOptions& options, base::ProgressStyle progress);

// What every rank but the root does. `options` are the root's. Errors: FineTuneMembers', with the
// rank.
base::Status ServeMembers(Ranks& ranks, const FineTuneOptions& options);

}  // namespace submix::train
