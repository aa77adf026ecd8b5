// A public model in federated training: LoRA adapters over its frozen weights,
// or all of its weights. Torch-free header.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/corpus/record_encoder.h"
#include "submix/model/lora_adapter.h"
#include "submix/tokenizer/tokenizer.h"
#include "submix/train/federated/federated_model.h"
#include "submix/train/recipes/precision.h"

namespace submix::train {

class MemberModels;
struct PublicModel;

// What `submix fedavg --public` trains.
struct FederatedDecoderOptions {
  std::string public_directory;           // Hugging Face's layout, with its tokenizer
  std::optional<model::LoraConfig> lora;  // none: all weights
  Precision precision = Precision::kFloat32;
  corpus::Loss loss = corpus::Loss::kAnswers;  // of conversations
};

// Tokens are the model's own, end_of_text behind each text of a user. Batches are blocks: each
// reads the token before its first prediction (at the beginning end_of_text) and up to `positions`
// in all, at positions from 0, so that `positions` must not pass the context length.
class FederatedDecoder final : public FederatedModel {
 public:
  // Errors: those of LoadPublicModel and LoadFittingTokenizer; kInvalidArgument for a LoRA
  // configuration that does not fit the model; kFailedPrecondition if the public model was itself
  // trained on private text.
  static base::StatusOr<std::unique_ptr<FederatedDecoder>> Load(
      const FederatedDecoderOptions& options);
  ~FederatedDecoder() override;

  const ParameterVectors& vectors() const override { return vectors_; }
  std::string Description() const override { return description_; }
  std::string Source() const override;
  base::StatusOr<TokenStreams> ReadUsers(const corpus::CorpusFile& file,
                                         const UserWordsLimits& limits) const override;
  // The parameters that change nothing in the public model. The seed is of LoRA's factors A.
  base::StatusOr<std::vector<float>> Start(const LocalTraining& local,
                                           std::uint64_t seed) const override;
  // An adapter (PEFT) or a whole model; and the merged model, as private_training.h has it, in
  // `directory`/released, without noise `directory`/not_private, which is returned.
  base::StatusOr<std::string> Save(std::span<const float> parameters, const FederatedCost& cost,
                                   const std::string& directory) const override;
  std::unique_ptr<ClientModel> MakeClient(int rows, int positions) const override;
  void Normalise(std::span<float> /*parameters*/) const override {}
  // In windows of the context length, each from its first token alone.
  base::StatusOr<PredictionMetrics> Evaluate(std::span<const float> parameters,
                                             std::span<const std::vector<base::TokenId>> streams,
                                             int threads) const override;

 private:
  FederatedDecoder(const FederatedDecoderOptions& options, std::unique_ptr<const PublicModel> model,
                   std::unique_ptr<const tokenizer::Tokenizer> tokenizer, std::string description);

  base::StatusOr<std::unique_ptr<MemberModels>> MakeTrained() const;

  const FederatedDecoderOptions options_;
  const std::unique_ptr<const PublicModel> model_;
  const std::unique_ptr<const tokenizer::Tokenizer> tokenizer_;
  ParameterVectors vectors_;
  const std::string description_;
};

}  // namespace submix::train
