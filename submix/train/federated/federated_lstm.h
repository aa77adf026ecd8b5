// The word-level LSTM (word_lstm.h) as a model of federated training. Torch-free.
#pragma once

#include "submix/train/federated/federated_model.h"
#include "submix/train/federated/word_lstm.h"

namespace submix::train {

// Tokens are words of a WordVocabulary: a text reads from kBeginning, kEnd closes each of its
// parts, and rows go on with the memory of their last batch.
class FederatedLstm final : public FederatedModel {
 public:
  explicit FederatedLstm(const WordLstmShape& shape);

  const WordLstmShape& shape() const { return shape_; }
  const ParameterVectors& vectors() const override { return vectors_; }
  std::string Description() const override;
  std::unique_ptr<ClientModel> MakeClient(int rows, int positions) const override;
  // Embeddings back to norm 1.
  void Normalise(std::span<float> parameters) const override;
  base::StatusOr<PredictionMetrics> Evaluate(std::span<const float> parameters,
                                             std::span<const std::vector<base::TokenId>> streams,
                                             int threads) const override;

 private:
  const WordLstmShape shape_;
  const ParameterVectors vectors_;
};

}  // namespace submix::train
