#include "submix/apps/training/fedavg_model.h"

#include <utility>

#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/base/progress_bar.h"
#include "submix/train/federated/federated_gpt.h"
#include "submix/train/federated/federated_lstm.h"
#include "submix/train/federated/public_start.h"
#include "submix/train/federated/word_metrics.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

bool HasBegun(const FedAvgModelOptions& options) {
  return base::FileExists(base::JoinPath(options.directory, "checkpoint.safetensors"));
}

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

// Of ranks other than the root without a vocabulary: they compute with ids alone.
class LstmModel final : public FedAvgModel {
 public:
  LstmModel(const FedAvgModelOptions& options, std::optional<train::WordVocabulary> vocabulary,
            const train::WordLstmShape& shape)
      : options_(options), vocabulary_(std::move(vocabulary)), model_(shape) {}

  const train::FederatedModel& model() const override { return model_; }

  std::string Source() const override {
    return "words " + base::ToHex(base::Sha256(vocabulary_->ToText())) + " public words " +
           std::to_string(options_.public_words);
  }

  StatusOr<TokenStreams> ReadUsers(const std::string& path,
                                   const train::UserWordsLimits& limits) const override {
    return train::ReadUserWords(path, *vocabulary_, limits);
  }

  StatusOr<std::vector<float>> Start(const train::LocalTraining& local) const override {
    std::vector<float> parameters = InitialWordLstm(model_.shape(), options_.seed);
    if (options_.public_words == 0 || HasBegun(options_)) return parameters;
    SUBMIX_ASSIGN_OR_RETURN(
        const auto words,
        train::ReadPublicWords(options_.public_text, *vocabulary_, options_.public_words));
    SUBMIX_RETURN_IF_ERROR(train::TrainOnPublicWords(model_.shape(), local, words, parameters,
                                                     base::DetectProgressStyle()));
    return parameters;
  }

  StatusOr<std::string> Save(std::span<const float> parameters,
                             const FedAvgCost& /*cost*/) const override {
    const std::string directory = base::JoinPath(options_.directory, "model");
    SUBMIX_RETURN_IF_ERROR(model_.Save(parameters, *vocabulary_, directory));
    return "Wrote " + directory;
  }

  StatusOr<Json> CountHeadWords(std::span<const float> parameters, const TokenStreams& heldout,
                                int threads) const override {
    SUBMIX_ASSIGN_OR_RETURN(const auto histograms,
                            train::CountHeadWords(model_.shape(), parameters,
                                                  train::FirstWords(heldout, train::kTable3Tokens),
                                                  train::kTable3Heads, threads));
    Json json;
    for (const train::HeadWordHistogram& histogram : histograms) {
      json[std::to_string(histogram.head)] = histogram.counts;
    }
    return json;
  }

 private:
  const FedAvgModelOptions options_;
  const std::optional<train::WordVocabulary> vocabulary_;
  const train::FederatedLstm model_;
};

class GptModel final : public FedAvgModel {
 public:
  GptModel(const FedAvgModelOptions& options, std::unique_ptr<train::FederatedGpt> model)
      : options_(options), model_(std::move(model)) {}

  const train::FederatedModel& model() const override { return *model_; }

  std::string Source() const override { return "public model"; }

  StatusOr<TokenStreams> ReadUsers(const std::string& path,
                                   const train::UserWordsLimits& limits) const override {
    return train::ReadUserTokens(path, model_->tokenizer(), limits);
  }

  StatusOr<std::vector<float>> Start(const train::LocalTraining& local) const override {
    if (local.unroll > model_->context_length()) {
      return base::InvalidArgumentError("--unroll " + std::to_string(local.unroll) +
                                        ": the public model reads " +
                                        std::to_string(model_->context_length()) + " tokens");
    }
    return model_->Start(options_.seed);
  }

  StatusOr<std::string> Save(std::span<const float> parameters,
                             const FedAvgCost& cost) const override {
    SUBMIX_ASSIGN_OR_RETURN(const std::string merged,
                            model_->Save(parameters, cost.cost, cost.epsilon, cost.delta,
                                         {{"private", cost.cost.mechanism}}, options_.directory));
    if (!(cost.cost.noise_multiplier > 0)) {
      return "Wrote " + merged + ": trained without noise; it must not leave";
    }
    return "Wrote " + merged +
           ": may be asked without limit and given away\n  Serve: submix deploy " + merged +
           " DEPLOYMENT --mechanism public";
  }

 private:
  const FedAvgModelOptions options_;
  const std::unique_ptr<train::FederatedGpt> model_;
};

StatusOr<std::unique_ptr<FedAvgModel>> MakeLstm(const FedAvgModelOptions& options,
                                                train::Ranks* ranks) {
  train::WordLstmShape shape = options.shape;
  std::optional<train::WordVocabulary> vocabulary;
  if (ranks == nullptr || ranks->is_root()) {
    SUBMIX_ASSIGN_OR_RETURN(vocabulary, LoadOrMakeVocabulary(options));
    shape.vocab_size = vocabulary->size();
  }
  if (ranks != nullptr) train::BroadcastValue(*ranks, shape);
  return std::unique_ptr<FedAvgModel>(
      std::make_unique<LstmModel>(options, std::move(vocabulary), shape));
}

StatusOr<std::unique_ptr<FedAvgModel>> LoadGpt(const FedAvgModelOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const auto config, model::LoadGptConfig(base::JoinPath(
                                                 options.public_directory, "config.json")));
  train::FederatedGptOptions gpt;
  gpt.public_directory = options.public_directory;
  SUBMIX_ASSIGN_OR_RETURN(gpt.lora, AdapterOf(options.adapter, config.layers));
  gpt.precision = TrainingPrecisionOf(options.adapter.precision);
  SUBMIX_ASSIGN_OR_RETURN(auto model, train::FederatedGpt::Load(gpt));
  return std::unique_ptr<FedAvgModel>(std::make_unique<GptModel>(options, std::move(model)));
}

}  // namespace

StatusOr<std::unique_ptr<FedAvgModel>> MakeFedAvgModel(const FedAvgModelOptions& options,
                                                       train::Ranks* ranks) {
  return options.public_directory.empty() ? MakeLstm(options, ranks) : LoadGpt(options);
}

}  // namespace submix::apps
