// The trainings that figures of DP-FedAvg ask for, each in a directory that is named by what it is
// a function of, so that figures share them and an interrupted one goes on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/eval/figures/federated_figures.h"
#include "submix/train/federated/federated_training.h"
#include "submix/train/federated/word_lstm.h"

namespace submix::workbench {

// What all trainings of a figure have in common.
struct FederatedRecipe {
  std::string corpus;
  std::string heldout;
  std::vector<std::string> public_text;  // the dictionary's, and of `public_words`
  std::string directory;
  std::int64_t tokens_per_user = 1600;  // users with fewer are dropped, others cut
  std::int64_t heldout_tokens = 75000;
  std::int64_t public_words = 0;  // first an ordinary pass over so many; 0: a random start
  std::int64_t evaluate_every = 20;
  train::WordLstmShape shape;  // but the size of the dictionary
  train::LocalTraining local;
  int threads = 0;
  std::uint64_t seed = 1;  // of the first model, and of all draws that promise nothing
};

struct FederatedModels {
  eval::FederatedModelSource source;
  double users = 0;  // with enough words
};

// A private training draws from the system and is charged in its directory's ledger; all others
// draw from the seed. The source is for one thread at a time. `words`: of the dictionary that users
// are counted with. Errors: those of reading; kInvalidArgument if no user has enough words.
base::StatusOr<FederatedModels> OpenFederatedModels(const FederatedRecipe& recipe, int words);

}  // namespace submix::workbench
