// The word-level LSTM (word_lstm.h) as a model of federated training. Torch-free.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "submix/train/federated/federated_model.h"
#include "submix/train/federated/word_lstm.h"
#include "submix/train/federated/word_vocabulary.h"

namespace submix::train {

// Tokens are words of a WordVocabulary: a text reads from kBeginning, kEnd closes each of its
// parts, and rows go on with the memory of their last batch.
class FederatedLstm final : public FederatedModel {
 public:
  // Computes with ids alone: what needs a vocabulary (text, start, files) is not to be called.
  explicit FederatedLstm(const WordLstmShape& shape);
  // Of the vocabulary's size. The start has learnt `public_words` words of the files `public_text`.
  FederatedLstm(const WordLstmShape& shape, WordVocabulary vocabulary,
                std::vector<std::string> public_text, std::int64_t public_words);

  const WordLstmShape& shape() const { return shape_; }
  const ParameterVectors& vectors() const override { return vectors_; }
  std::string Description() const override;
  std::string Source() const override;
  base::StatusOr<TokenStreams> ReadUsers(const corpus::CorpusFile& file,
                                         const UserWordsLimits& limits) const override;
  base::StatusOr<std::vector<float>> Start(const LocalTraining& local,
                                           std::uint64_t seed) const override;
  // config.json (vocab_size, width, units), words.txt (one word a line, most frequent first, behind
  // the three marks) and model.safetensors (the vectors by their names, float32).
  base::StatusOr<std::string> Save(std::span<const float> parameters, const FederatedCost& cost,
                                   const std::string& directory) const override;
  std::unique_ptr<ClientModel> MakeClient(int rows, int positions) const override;
  // Embeddings back to norm 1.
  void Normalise(std::span<float> parameters) const override;
  base::StatusOr<PredictionMetrics> Evaluate(std::span<const float> parameters,
                                             std::span<const std::vector<base::TokenId>> streams,
                                             int threads) const override;

 private:
  const WordLstmShape shape_;
  const ParameterVectors vectors_;
  const std::optional<WordVocabulary> vocabulary_;
  const std::vector<std::string> public_text_;
  const std::int64_t public_words_ = 0;
};

}  // namespace submix::train
