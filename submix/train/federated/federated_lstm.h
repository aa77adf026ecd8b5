// The word-level LSTM (word_lstm.h) as a model of federated training. Torch-free.
#pragma once

#include "submix/train/federated/federated_model.h"
#include "submix/train/federated/word_lstm.h"
#include "submix/train/federated/word_vocabulary.h"

namespace submix::train {

// Tokens are words of a WordVocabulary: a text reads from kBeginning, kEnd closes each of its
// parts, and rows go on with the memory of their last batch.
class FederatedLstm final : public FederatedModel {
 public:
  explicit FederatedLstm(const WordLstmShape& shape);

  const WordLstmShape& shape() const { return shape_; }
  // Writes config.json (vocab_size, width, units), words.txt (one word a line, most frequent first,
  // behind the three marks) and model.safetensors (the vectors by their names, float32); replaces
  // what is there, file by file. Errors: those of writing. Requires: the vocabulary's shape.
  base::Status Save(std::span<const float> parameters, const WordVocabulary& vocabulary,
                    const std::string& directory) const;

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
