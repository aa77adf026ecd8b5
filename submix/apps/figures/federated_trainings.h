// The trainings that figures of DP-FedAvg ask for, each in a directory that is named by what it is
// a function of, so that figures share them and an interrupted one goes on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/eval/figures/federated_figures.h"
#include "submix/train/federated/federated_training.h"
#include "submix/train/federated/word_lstm.h"
#include "submix/train/federated/word_vocabulary.h"

namespace submix::apps {

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

// One thread at a time.
class FederatedTrainings {
 public:
  explicit FederatedTrainings(FederatedRecipe recipe) : recipe_(std::move(recipe)) {}

  // Before anything else. Returns the number of users with enough words. Errors: those of reading;
  // kInvalidArgument if there are none.
  base::StatusOr<double> Prepare(int words);

  // As eval::FederatedModelSource wants it. A private training draws from the system and is charged
  // in its directory's ledger; all others draw from the seed.
  base::StatusOr<eval::FederatedRun> Train(const eval::FederatedSetting& setting);
  base::StatusOr<std::vector<eval::HeadWordCounts>> CountHeadWords(
      const eval::FederatedSetting& setting);

 private:
  // The texts in the words of one dictionary.
  struct Texts {
    train::WordVocabulary vocabulary;
    std::string words_digest;
    std::vector<std::vector<base::TokenId>> users;
    std::vector<std::vector<base::TokenId>> heldout;
    std::vector<float> start;  // the model that trainings begin with; made when first needed
  };
  struct Trained {
    eval::FederatedRun run;
    std::vector<float> parameters;
  };

  base::StatusOr<train::WordVocabulary> LoadOrMakeVocabulary(int words) const;
  base::StatusOr<Texts*> LoadTexts(int words);
  train::WordLstmShape ShapeOf(const Texts& texts) const;
  // What a training is a function of, and the directory's name.
  eval::NamedOptions OptionsOf(const eval::FederatedSetting& setting, const Texts& texts) const;
  std::string DirectoryOf(const eval::NamedOptions& options) const;
  // What a training begins with; any model of its size where it has begun.
  base::StatusOr<std::vector<float>> StartOf(const eval::FederatedSetting& setting, Texts& texts,
                                             const std::string& directory);
  train::FederatedOptions TrainingOptions(const eval::FederatedSetting& setting, double population,
                                          const std::string& directory) const;
  base::StatusOr<Trained> TrainOrLoad(const eval::FederatedSetting& setting);

  const FederatedRecipe recipe_;
  std::string sources_;  // digests of the files
  std::map<int, Texts> texts_;
};

}  // namespace submix::apps
