// The model that federated training trains, as its rounds see it: one flat array of parameters, and
// gradients of a user's tokens, batch by batch; with what makes tokens of text and files of
// parameters. Torch-free.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/ensemble/training_cost.h"
#include "submix/train/federated/prediction_metrics.h"
#include "submix/train/federated/user_words.h"
#include "submix/train/kernels/parameter_vectors.h"

namespace submix::train {

struct LocalTraining;

// What a training cost, for the model that it ends with.
struct FederatedCost {
  ensemble::TrainingCost cost;
  double epsilon = 0;  // at `delta`; infinite without noise
  double delta = 0;
};

// The gradients of one user after another. One thread at a time. libtorch's exceptions pass
// through.
class ClientModel {
 public:
  virtual ~ClientModel() = default;

  // The model that the next gradients are taken at, [N]. Read until the next call of this.
  virtual void SetParameters(std::span<const float> parameters) = 0;
  // Begins a pass over a user's tokens, which live until its end. Nothing of an earlier text is
  // remembered. Requires: at least one token; all within the vocabulary.
  virtual void Begin(std::span<const base::TokenId> tokens) = 0;
  // Goes to the next batch of the pass and counts the tokens that are predicted in it; 0 behind the
  // last one. Over the pass every token that counts is predicted once.
  virtual std::int64_t NextBatch() = 0;
  // Replaces `gradient` [N] by the derivative of weight * (the sum of the batch's losses).
  virtual void Gradient(float weight, std::span<float> gradient) = 0;
};

// Thread-safe.
class FederatedModel {
 public:
  virtual ~FederatedModel() = default;

  virtual const ParameterVectors& vectors() const = 0;
  // What the model is, but for its parameters.
  virtual std::string Description() const = 0;
  // What turns text into tokens, for the check that a run goes on as it began.
  virtual std::string Source() const = 0;
  // A stream of tokens a user (user_words.h).
  virtual base::StatusOr<TokenStreams> ReadUsers(const corpus::CorpusFile& file,
                                                 const UserWordsLimits& limits) const = 0;
  // The parameters before the first round. The seed is of what is random in them; public text, if
  // any is learnt first, is learnt by such local steps. Errors: those of reading and of libtorch;
  // kInvalidArgument for stretches that the model cannot read.
  virtual base::StatusOr<std::vector<float>> Start(const LocalTraining& local,
                                                   std::uint64_t seed) const = 0;
  // Writes the trained parameters to `directory`/model, and what else there is of a model of this
  // kind; replaces what is there. Returns the directory to go on with. Errors: those of writing.
  virtual base::StatusOr<std::string> Save(std::span<const float> parameters,
                                           const FederatedCost& cost,
                                           const std::string& directory) const = 0;
  // Batches are of `rows` stretches of up to `positions` tokens. Requires: both >= 1. The model
  // outlives it.
  virtual std::unique_ptr<ClientModel> MakeClient(int rows, int positions) const = 0;
  // Scales the parameters after a round in a way that changes no prediction.
  virtual void Normalise(std::span<float> parameters) const = 0;
  // Each stream from an empty memory. Results do not depend on `threads` (1 or more). Errors:
  // kInvalidArgument for no tokens; those of libtorch.
  virtual base::StatusOr<PredictionMetrics> Evaluate(
      std::span<const float> parameters, std::span<const std::vector<base::TokenId>> streams,
      int threads) const = 0;
};

}  // namespace submix::train
