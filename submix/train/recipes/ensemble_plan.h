// An ensemble's training, planned (SubMix, Algorithm 1): partition by keyed hash, one member for
// each half, and the directory around them, with its manifest. Who trains the members, and with
// what, is not known here. Torch-free.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "submix/base/file_system.h"
#include "submix/base/status.h"
#include "submix/corpus/partition.h"
#include "submix/corpus/record_encoder.h"
#include "submix/corpus/user_records.h"
#include "submix/ensemble/manifest.h"
#include "submix/train/recipes/fine_tune_options.h"
#include "submix/train/recipes/member_recipe.h"

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
  // Who trains the members, where that is another program: part of what a member is a function of.
  std::string trainer;
};

// One thread at a time. Holds the directory's lock.
class EnsemblePlan {
 public:
  // Makes the directory, the manifest and the copy of the public model, or finds them as an
  // interrupted run of the same options left them; copies the members that are to be reused.
  // Errors: before anything is written, those of the public model and of CheckFineTuneOptions;
  // those of the corpus; kFailedPrecondition if the directory holds an ensemble of other options,
  // corpus or public model; kResourceExhausted on a full disk (run it again to go on);
  // kUnavailable if somebody else writes it.
  static base::StatusOr<EnsemblePlan> Begin(const EnsembleTrainingOptions& options);

  // The copy that members start from.
  std::string public_directory() const;
  // A member each, in the manifest's order. One whose output directory exists is trained.
  std::span<const MemberTask> tasks() const { return tasks_; }
  // The manifest says that all members are trained: nothing is left to do.
  bool is_complete() const;

  // Closes the manifest over what was trained. Errors: kFailedPrecondition naming a member that is
  // not there; those of HashFiles and SaveManifest.
  base::Status Finish();

 private:
  EnsemblePlan(std::string directory, std::unique_ptr<base::FileLock> lock,
               ensemble::Manifest manifest, std::vector<MemberTask> tasks);

  std::string directory_;
  std::unique_ptr<base::FileLock> lock_;
  ensemble::Manifest manifest_;
  std::vector<MemberTask> tasks_;
};

}  // namespace submix::train
