// What models say of a text, token by token, without mechanisms and without privacy.
#pragma once

#include <span>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/progress_bar.h"
#include "submix/base/status.h"
#include "submix/ensemble/predictor.h"
#include "submix/eval/measuring/heldout.h"

namespace submix::eval {

// In nats; NaN if the logits are not all finite. Requires: token in [0, logits.size()).
double LogProbability(std::span<const float> logits, base::TokenId token);

// log_probabilities[row][i]: of the i-th token that has tokens before it in its block, in the order
// of the blocks, by the public model (row 0) and each member. Errors: the predictor's.
base::StatusOr<std::vector<std::vector<double>>> ScoreTokens(ensemble::Predictor& predictor,
                                                             const HeldoutBlocks& blocks,
                                                             base::ProgressBar& progress);

}  // namespace submix::eval
