#include "submix/train/federated/local_pass.h"

#include <algorithm>

#include "submix/base/check.h"

namespace submix::train {
namespace {

void AddScaled(std::span<const float> from, float scale, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += scale * from[i];
}

}  // namespace

LocalPass::LocalPass(const FederatedModel& model, const LocalTraining& training)
    : vectors_(model.vectors()),
      training_(training),
      client_(model.MakeClient(training.batch_size, training.unroll)),
      parameters_(vectors_.back().end),
      gradient_(vectors_.back().end),
      update_(vectors_.back().end) {}

std::span<const float> LocalPass::Update(std::span<const float> start,
                                         std::span<const base::TokenId> tokens,
                                         const UpdateClipping& clipping) {
  SUBMIX_CHECK(start.size() == parameters_.size() && !tokens.empty(), "a user without tokens");
  std::ranges::fill(update_, 0.0f);
  if (training_.algorithm == FederatedAlgorithm::kFedAvg) {
    RunFedAvg(start, tokens, clipping);
  } else {
    RunFedSgd(start, tokens, clipping);
  }
  return update_;
}

void LocalPass::RunFedAvg(std::span<const float> start, std::span<const base::TokenId> tokens,
                          const UpdateClipping& clipping) {
  std::ranges::copy(start, parameters_.begin());
  for (int epoch = 0; epoch < training_.epochs; ++epoch) {
    client_->Begin(tokens);
    while (const std::int64_t targets = client_->NextBatch()) {
      client_->SetParameters(parameters_);
      client_->Gradient(1.0f / static_cast<float>(targets), gradient_);
      AddScaled(gradient_, static_cast<float>(-training_.learning_rate), update_);
      Project(clipping);
      for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i] = start[i] + update_[i];
    }
  }
}

void LocalPass::RunFedSgd(std::span<const float> start, std::span<const base::TokenId> tokens,
                          const UpdateClipping& clipping) {
  client_->SetParameters(start);
  client_->Begin(tokens);
  const float weight = 1.0f / static_cast<float>(std::ranges::count_if(tokens, corpus::IsCounted));
  while (client_->NextBatch() > 0) {
    client_->Gradient(weight, gradient_);
    AddScaled(gradient_, static_cast<float>(-training_.learning_rate), update_);
  }
  Project(clipping);
}

void LocalPass::Project(const UpdateClipping& clipping) {
  const std::vector<double> factors = ClippingFactors(clipping, vectors_, update_);
  for (std::size_t v = 0; v < vectors_.size(); ++v) {
    if (factors[v] == 1) continue;
    // Not finite: the user's part of the round ends where it began.
    const bool is_lost = factors[v] == 0;
    const auto factor = static_cast<float>(factors[v]);
    for (std::size_t i = vectors_[v].begin; i < vectors_[v].end; ++i) {
      update_[i] = is_lost ? 0.0f : factor * update_[i];
    }
  }
}

}  // namespace submix::train
