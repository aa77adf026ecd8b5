// What of an evaluation's position needs no mechanism: what each model says of the true token.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/eval/measuring/evaluation.h"
#include "submix/mechanism/mapped_predictions.h"

namespace submix::eval {

struct ScoredPosition {
  mechanism::PartPredictions predictions;
  std::size_t true_index = 0;  // of the true token, in the predictions' support
  int user = 0;                // who wrote it, by number
  // Of the public model, the mean of all members, fine-tuned models, members.
  std::vector<TokenScore> scores;
};

// One thread at a time.
class PositionScorer {
 public:
  // The plan must outlive it.
  explicit PositionScorer(const EvaluationPlan& plan) : plan_(plan) {}

  // `logits` is [rows, V]: the public model, members part by part, then fine-tuned models. Valid
  // until the next call. Errors: those of MappedPredictions::Map.
  base::StatusOr<const ScoredPosition*> Score(base::TokenId true_token, int user,
                                              std::span<const float> logits);

 private:
  const EvaluationPlan& plan_;
  mechanism::MappedPredictions mapped_;
  ScoredPosition scored_;
  std::vector<double> mean_;  // of the members
};

}  // namespace submix::eval
