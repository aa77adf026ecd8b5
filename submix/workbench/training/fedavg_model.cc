#include "submix/workbench/training/fedavg_model.h"

#include <utility>

#include "submix/base/file_system.h"
#include "submix/train/federated/federated_decoder.h"
#include "submix/train/federated/federated_lstm.h"

namespace submix::workbench {
namespace {

using base::StatusOr;
using ModelOrError = StatusOr<std::unique_ptr<train::FederatedModel>>;

// Of the public text; a run that goes on takes the dictionary that it began with.
StatusOr<train::WordVocabulary> LoadOrMakeVocabulary(const FedAvgModelOptions& options) {
  const std::string path = base::JoinPath(options.directory, "words.txt");
  if (base::FileExists(path)) {
    SUBMIX_ASSIGN_OR_RETURN(auto vocabulary, train::WordVocabulary::Load(path));
    if (vocabulary.num_words() != options.words) {
      return base::FailedPreconditionError(path + ": a dictionary of " +
                                           std::to_string(vocabulary.num_words()) +
                                           " words; give a new directory for another");
    }
    return vocabulary;
  }
  SUBMIX_ASSIGN_OR_RETURN(
      auto vocabulary, train::WordVocabulary::FromPublicText(options.public_text, options.words));
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(options.directory));
  SUBMIX_RETURN_IF_ERROR(vocabulary.Save(path));
  return vocabulary;
}

ModelOrError MakeLstm(const FedAvgModelOptions& options, train::Ranks* ranks) {
  train::WordLstmShape shape = options.shape;
  std::unique_ptr<train::FederatedModel> model;
  if (ranks == nullptr || ranks->is_root()) {
    SUBMIX_ASSIGN_OR_RETURN(auto vocabulary, LoadOrMakeVocabulary(options));
    shape.vocab_size = vocabulary.size();
    model = std::make_unique<train::FederatedLstm>(shape, std::move(vocabulary),
                                                   options.public_text, options.public_words);
  }
  if (ranks != nullptr) train::BroadcastValue(*ranks, shape);
  if (model == nullptr) model = std::make_unique<train::FederatedLstm>(shape);
  return model;
}

ModelOrError LoadPublic(const FedAvgModelOptions& options) {
  train::FederatedDecoderOptions wanted;
  wanted.public_directory = options.public_directory;
  wanted.lora = options.lora;
  wanted.precision = options.precision;
  wanted.loss = options.loss;
  std::unique_ptr<train::FederatedModel> model;
  SUBMIX_ASSIGN_OR_RETURN(model, train::FederatedDecoder::Load(wanted));
  return model;
}

}  // namespace

ModelOrError MakeFedAvgModel(const FedAvgModelOptions& options, train::Ranks* ranks) {
  return options.public_directory.empty() ? MakeLstm(options, ranks) : LoadPublic(options);
}

}  // namespace submix::workbench
