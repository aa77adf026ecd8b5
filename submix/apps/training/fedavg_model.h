// The model that `submix fedavg` trains, with the text in its tokens: a word-level LSTM over a
// dictionary of public text, or a GPT-2-architecture public model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/apps/training/fine_tune_flags.h"
#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/ensemble/training_cost.h"
#include "submix/train/federated/federated_model.h"
#include "submix/train/federated/local_pass.h"
#include "submix/train/federated/user_words.h"
#include "submix/train/federated/word_lstm.h"
#include "submix/train/fine_tuning/ranks.h"

namespace submix::apps {

using TokenStreams = std::vector<std::vector<base::TokenId>>;

// What the flags say about the model.
struct FedAvgModelOptions {
  std::string directory;  // of the training: what it began with stays
  std::uint64_t seed = 1;
  // Of the LSTM.
  std::vector<std::string> public_text;
  int words = 10000;
  train::WordLstmShape shape;  // but the size of the dictionary
  std::int64_t public_words = 0;
  // Of a GPT-2; empty: the LSTM.
  std::string public_directory;
  AdapterFlags adapter;
};

// What a training cost, for the model that it ends with.
struct FedAvgCost {
  ensemble::TrainingCost cost;
  double epsilon = 0;  // at `delta`; infinite without noise
  double delta = 0;
};

// One thread at a time.
class FedAvgModel {
 public:
  virtual ~FedAvgModel() = default;

  virtual const train::FederatedModel& model() const = 0;
  // What else decides a training, for the check that a run goes on as it began.
  virtual std::string Source() const = 0;
  virtual base::StatusOr<TokenStreams> ReadUsers(const std::string& path,
                                                 const train::UserWordsLimits& limits) const = 0;
  // The parameters before the first round, by these local steps where public text is learnt first;
  // any of the right size if the training has begun.
  virtual base::StatusOr<std::vector<float>> Start(const train::LocalTraining& local) const = 0;
  // Writes what was trained into the training's directory and returns what to do with it, a line.
  virtual base::StatusOr<std::string> Save(std::span<const float> parameters,
                                           const FedAvgCost& cost) const = 0;
  // {"10": [places with none of the ten most frequent words among the first ten predictions, with
  // one, …], …}. Errors: kUnimplemented for a model without a dictionary of words.
  virtual base::StatusOr<nlohmann::ordered_json> CountHeadWords(
      std::span<const float> /*parameters*/, const TokenStreams& /*heldout*/,
      int /*threads*/) const {
    return base::UnimplementedError("--head-words: only for a dictionary of words");
  }
};

// Every rank makes the same one; only the root reads public text. `ranks` may be null. Errors:
// those of reading; kFailedPrecondition if the directory was begun with another dictionary.
base::StatusOr<std::unique_ptr<FedAvgModel>> MakeFedAvgModel(const FedAvgModelOptions& options,
                                                             train::Ranks* ranks);

}  // namespace submix::apps
