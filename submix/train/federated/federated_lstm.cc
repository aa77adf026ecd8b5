#include "submix/train/federated/federated_lstm.h"

#include <optional>

#include <nlohmann/json.hpp>

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/model/safetensors.h"
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

base::Status FederatedLstm::Save(std::span<const float> parameters,
                                 const WordVocabulary& vocabulary,
                                 const std::string& directory) const {
  SUBMIX_CHECK(vocabulary.size() == shape_.vocab_size, "a vocabulary of another model");
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(directory));
  const nlohmann::ordered_json config = {{"model_type", "submix-word-lstm"},
                                         {"vocab_size", shape_.vocab_size},
                                         {"width", shape_.width},
                                         {"units", shape_.units}};
  SUBMIX_RETURN_IF_ERROR(
      base::WriteFile(base::JoinPath(directory, "config.json"), config.dump(2) + "\n"));
  SUBMIX_RETURN_IF_ERROR(vocabulary.Save(base::JoinPath(directory, "words.txt")));
  std::vector<model::NamedTensor> tensors;
  for (const ParameterVector& vector : vectors_) {
    tensors.push_back({vector.name, vector.shape, parameters.subspan(vector.begin, vector.size())});
  }
  return model::WriteSafetensors(base::JoinPath(directory, "model.safetensors"), tensors,
                                 model::Dtype::kF32, {{"format", "pt"}});
}

std::string FederatedLstm::Description() const {
  return std::to_string(shape_.vocab_size) + " " + std::to_string(shape_.width) + " " +
         std::to_string(shape_.units);
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
