// What models say of a text, token by token, without mechanisms and without privacy.
#pragma once

#include <cstdint>
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

// What one model says of the tokens that have others before them in their block, in the order of
// the blocks.
struct TokenScores {
  std::vector<double> log_probabilities;
  std::int64_t likeliest = 0;  // how many of them no other token was likelier than

  double nats() const;  // all tokens together
  double perplexity() const;
};

// Of the public model (row 0) and each member. Errors: the predictor's.
base::StatusOr<std::vector<TokenScores>> ScoreTokens(ensemble::Predictor& predictor,
                                                     const HeldoutBlocks& blocks,
                                                     base::ProgressBar& progress);

}  // namespace submix::eval
