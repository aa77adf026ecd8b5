// Targeted extraction as in the Training Data Extraction Challenge (Carlini and others 2022): from
// the words before a piece of private text, guess what follows it, and say how sure one is.
#pragma once

#include <span>
#include <vector>

#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/ensemble/predictor.h"
#include "submix/eval/attacks/attack_input.h"
#include "submix/eval/measuring/token_law.h"

namespace submix::eval {

// The guess for one example.
struct TargetedGuess {
  bool is_right = false;       // every token
  double tokens_right = 0;     // share of the suffix's tokens, place by place
  double log_probability = 0;  // a token, on average, as the attacker sees it: how sure it is
};

// One guess: with `samples` 1 the likeliest token each time, with more the likeliest of so many
// samples. The law is asked as it stands. Errors: the predictor's and the law's.
base::StatusOr<TargetedGuess> GuessSuffix(ensemble::Predictor& predictor, TokenLaw& law,
                                          const TargetedExample& example, int samples,
                                          base::RandomSource& random);

// With the surest guesses handed in first.
struct TargetedPoint {
  double precision = 0;  // right ones among them
  double recall = 0;     // right ones among all examples
};

struct TargetedSummary {
  int examples = 0;
  int right = 0;
  double recall = 0;
  double recall_at_100_errors = 0;   // the challenge's score: before the 101st wrong one
  double tokens_right = 0;           // mean share
  std::vector<TargetedPoint> curve;  // [examples]
};
TargetedSummary Summarise(std::span<const TargetedGuess> guesses);

}  // namespace submix::eval
