// The model that `submix fedavg` trains: a word-level LSTM over a dictionary of public text, or a
// public model in Hugging Face's layout.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/corpus/record_encoder.h"
#include "submix/model/lora_adapter.h"
#include "submix/train/federated/federated_model.h"
#include "submix/train/federated/word_lstm.h"
#include "submix/train/kernels/ranks.h"
#include "submix/train/recipes/precision.h"

namespace submix::workbench {

// What the flags say about the model.
struct FedAvgModelOptions {
  std::string directory;  // of the training: what it began with stays
  // Of the LSTM.
  std::vector<std::string> public_text;
  int words = 10000;
  train::WordLstmShape shape;  // but the size of the dictionary
  std::int64_t public_words = 0;
  // Empty: the LSTM.
  std::string public_directory;
  std::optional<model::LoraConfig> lora;  // none: all weights
  train::Precision precision = train::Precision::kFloat32;
  corpus::Loss loss = corpus::Loss::kAnswers;  // of conversations
};

// Every rank makes the same one; only the root reads public text. `ranks` may be null. Errors:
// those of reading; kFailedPrecondition if the directory was begun with another dictionary.
base::StatusOr<std::unique_ptr<train::FederatedModel>> MakeFedAvgModel(
    const FedAvgModelOptions& options, train::Ranks* ranks);

}  // namespace submix::workbench
