#include "submix/train/federated/federated_lstm.h"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "submix/base/check.h"
#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/model/safetensors.h"
#include "submix/train/federated/public_start.h"
#include "submix/train/federated/word_metrics.h"
#include "submix/train/federated/word_stretches.h"

namespace submix::train {
namespace {

using base::TokenId;

class LstmClient final : public ClientModel {
 public:
  LstmClient(const WordLstmShape& shape, int rows, int unroll)
      : rows_(rows), unroll_(unroll), lstm_(shape, rows, unroll) {}

  void SetParameters(std::span<const float> parameters) override {
    lstm_.SetParameters(parameters);
  }

  void Begin(std::span<const TokenId> tokens) override {
    stretches_.emplace(tokens, rows_, unroll_);
    next_ = 0;
    lstm_.ResetState();
  }

  std::int64_t NextBatch() override {
    // Every batch has a word: the first row is the longest.
    return stretches_->Fill(next_++, batch_) ? NumTargets(batch_) : 0;
  }

  void Gradient(float weight, std::span<float> gradient) override {
    lstm_.Gradient(batch_, weight, gradient);
  }

 private:
  const int rows_;
  const int unroll_;
  WordLstm lstm_;
  std::optional<WordStretches> stretches_;
  std::size_t next_ = 0;
  WordBatch batch_;
};

}  // namespace

FederatedLstm::FederatedLstm(const WordLstmShape& shape)
    : shape_(shape), vectors_(WordLstmVectors(shape)) {}

FederatedLstm::FederatedLstm(const WordLstmShape& shape, WordVocabulary vocabulary,
                             std::vector<std::string> public_text, std::int64_t public_words)
    : shape_(shape),
      vectors_(WordLstmVectors(shape)),
      vocabulary_(std::move(vocabulary)),
      public_text_(std::move(public_text)),
      public_words_(public_words) {
  SUBMIX_CHECK(vocabulary_->size() == shape.vocab_size, "a vocabulary of another model");
}

std::string FederatedLstm::Description() const {
  return std::to_string(shape_.vocab_size) + " " + std::to_string(shape_.width) + " " +
         std::to_string(shape_.units);
}

std::string FederatedLstm::Source() const {
  return "words " + base::ToHex(base::Sha256(vocabulary_->ToText())) + " public words " +
         std::to_string(public_words_);
}

base::StatusOr<TokenStreams> FederatedLstm::ReadUsers(const corpus::CorpusFile& file,
                                                      const UserWordsLimits& limits) const {
  const auto append = [&](const corpus::UserRecord& record, std::vector<TokenId>& stream) {
    if (!record.messages.empty() || record.prompt_bytes) {
      return base::InvalidArgumentError(
          "a conversation, or a prompt with its completion: this model of words reads text alone; "
          "take a public model (--public)");
    }
    vocabulary_->AppendText(record.text, stream);
    return base::OkStatus();
  };
  return ReadUserStreams(file, limits, append);
}

base::StatusOr<std::vector<float>> FederatedLstm::Start(const LocalTraining& local,
                                                        std::uint64_t seed) const {
  std::vector<float> parameters = InitialWordLstm(shape_, seed);
  if (public_words_ == 0) return parameters;
  SUBMIX_ASSIGN_OR_RETURN(const auto words,
                          ReadPublicWords(public_text_, *vocabulary_, public_words_));
  SUBMIX_RETURN_IF_ERROR(
      TrainOnPublicWords(*this, local, words, parameters, base::DetectProgressStyle()));
  return parameters;
}

base::StatusOr<std::string> FederatedLstm::Save(std::span<const float> parameters,
                                                const FederatedCost& /*cost*/,
                                                const std::string& directory) const {
  const std::string model = base::JoinPath(directory, "model");
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(model));
  const nlohmann::ordered_json config = {{"model_type", "submix-word-lstm"},
                                         {"vocab_size", shape_.vocab_size},
                                         {"width", shape_.width},
                                         {"units", shape_.units}};
  SUBMIX_RETURN_IF_ERROR(
      base::WriteFile(base::JoinPath(model, "config.json"), config.dump(2) + "\n"));
  SUBMIX_RETURN_IF_ERROR(vocabulary_->Save(base::JoinPath(model, "words.txt")));
  std::vector<model::NamedTensor> tensors;
  for (const ParameterVector& vector : vectors_) {
    tensors.push_back({vector.name, vector.shape, parameters.subspan(vector.begin, vector.size())});
  }
  SUBMIX_RETURN_IF_ERROR(model::WriteSafetensors(base::JoinPath(model, "model.safetensors"),
                                                 tensors, model::Dtype::kF32, {{"format", "pt"}}));
  return model;
}

std::unique_ptr<ClientModel> FederatedLstm::MakeClient(int rows, int positions) const {
  return std::make_unique<LstmClient>(shape_, rows, positions);
}

void FederatedLstm::Normalise(std::span<float> parameters) const {
  NormaliseEmbedding(shape_, parameters);
}

base::StatusOr<PredictionMetrics> FederatedLstm::Evaluate(
    std::span<const float> parameters, std::span<const std::vector<TokenId>> streams,
    int threads) const {
  return EvaluateWordLstm(shape_, parameters, streams, threads);
}

}  // namespace submix::train
