// DP-SGD for the papers' figures: models at a given Rényi cost, kept beside the ensembles.
#pragma once

#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/eval/figures/perplexity_study.h"
#include "submix/train/fine_tuning/fine_tune.h"
#include "submix/train/private_training/private_training.h"

namespace submix::workbench {

// Of DP-SGD, beside the mechanisms.
struct PrivateModelOptions {
  std::vector<int> epochs = {1, 10};  // expected passes, a curve each; 0: none
  double share = 0.125;               // of the users, on average, in a step
  double clip = 0.1;
  double learning_rate = 0.001;
};

struct PrivateModelRecipe {
  std::string directory;  // models lie in it, named by what they are a function of
  std::string sources;    // digests of text, public model and partition key
  std::string public_directory;
  std::string corpus;  // user-keyed
  std::string partition_key_path;
  train::FineTuneOptions fine_tune;  // how weights are trained without privacy
  PrivateModelOptions options;
};

// Trains, goes on, or reports what was trained: as many steps as make so many passes, with the
// least noise that keeps them within `asked.epsilon`. Errors: those of the corpus, NoiseForSteps
// and TrainPrivately.
base::StatusOr<eval::PrivatelyTrained> TrainPrivateModel(const PrivateModelRecipe& recipe,
                                                         const eval::PrivateTraining& asked);

}  // namespace submix::workbench
