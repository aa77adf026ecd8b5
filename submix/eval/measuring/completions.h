// Text drawn from a law of tokens, or its likeliest tokens one after the other.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/ensemble/predictor.h"
#include "submix/eval/measuring/token_law.h"

namespace submix::eval {

struct CompletionOptions {
  std::size_t tokens = 1;  // of each completion
  int count = 1;           // completions
  int at_a_time = 25;      // sequences in one batch
  bool greedy = false;     // the likeliest token each time (the first of several)
};

struct Completion {
  std::vector<base::TokenId> tokens;
  double log_probability = 0;  // of the tokens, nats
};

// Every token is a query of the law. Errors: the predictor's, such as a prompt that does not fit
// the context; the law's.
base::StatusOr<std::vector<Completion>> Complete(ensemble::Predictor& predictor, TokenLaw& law,
                                                 std::span<const base::TokenId> prompt,
                                                 const CompletionOptions& options,
                                                 base::RandomSource& random);

}  // namespace submix::eval
