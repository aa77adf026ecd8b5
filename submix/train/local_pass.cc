#include "submix/train/local_pass.h"

#include <algorithm>

#include "submix/base/check.h"
#include "submix/train/word_stretches.h"

namespace submix::train {
namespace {

void AddScaled(std::span<const float> from, float scale, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += scale * from[i];
}

}  // namespace

LocalPass::LocalPass(const WordLstmShape& shape, const LocalTraining& training)
    : vectors_(WordLstmVectors(shape)),
      training_(training),
      lstm_(shape, training.batch_size, training.unroll),
      parameters_(vectors_.back().end),
      gradient_(vectors_.back().end),
      update_(vectors_.back().end) {}

std::span<const float> LocalPass::Update(std::span<const float> start,
                                         std::span<const base::TokenId> words,
                                         const UpdateClipping& clipping) {
  SUBMIX_CHECK(start.size() == parameters_.size() && !words.empty(), "a user without words");
  std::ranges::fill(update_, 0.0f);
  if (training_.algorithm == FederatedAlgorithm::kFedAvg) {
    RunFedAvg(start, words, clipping);
  } else {
    RunFedSgd(start, words, clipping);
  }
  return update_;
}

void LocalPass::RunFedAvg(std::span<const float> start, std::span<const base::TokenId> words,
                          const UpdateClipping& clipping) {
  const WordStretches stretches(words, training_.batch_size, training_.unroll);
  std::ranges::copy(start, parameters_.begin());
  for (int epoch = 0; epoch < training_.epochs; ++epoch) {
    lstm_.ResetState();
    for (std::size_t b = 0; stretches.Fill(b, batch_); ++b) {
      lstm_.SetParameters(parameters_);
      // Every batch has a word: the first row is the longest.
      lstm_.Gradient(batch_, 1.0f / static_cast<float>(NumTargets(batch_)), gradient_);
      AddScaled(gradient_, static_cast<float>(-training_.learning_rate), update_);
      Project(clipping);
      for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i] = start[i] + update_[i];
    }
  }
}

void LocalPass::RunFedSgd(std::span<const float> start, std::span<const base::TokenId> words,
                          const UpdateClipping& clipping) {
  const WordStretches stretches(words, training_.batch_size, training_.unroll);
  lstm_.SetParameters(start);
  lstm_.ResetState();
  const float weight = 1.0f / static_cast<float>(words.size());
  for (std::size_t b = 0; stretches.Fill(b, batch_); ++b) {
    lstm_.Gradient(batch_, weight, gradient_);
    AddScaled(gradient_, static_cast<float>(-training_.learning_rate), update_);
  }
  Project(clipping);
}

void LocalPass::Project(const UpdateClipping& clipping) {
  const std::vector<double> factors = ClippingFactors(clipping, VectorNorms(vectors_, update_));
  for (std::size_t v = 0; v < vectors_.size(); ++v) {
    if (factors[v] == 1) continue;
    if (factors[v] == 0) {
      // Not finite: the user's part of the round ends where it began.
      std::fill(update_.begin() + vectors_[v].begin, update_.begin() + vectors_[v].end, 0.0f);
      continue;
    }
    const auto factor = static_cast<float>(factors[v]);
    for (std::size_t i = vectors_[v].begin; i < vectors_[v].end; ++i) update_[i] *= factor;
  }
}

}  // namespace submix::train
