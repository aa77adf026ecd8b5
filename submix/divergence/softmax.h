// From a model's logits to a pmf in double.
#pragma once

#include <span>

namespace submix::divergence {

// The largest of some logits; any of them if not all are finite. Vectorised, the same work whatever
// the logits. Requires: not empty.
struct LargestLogit {
  float value;
  bool all_finite;
};
LargestLogit LargestOf(std::span<const float> logits);

// pmf[x] = exp(logits[x] / temperature) / sum. Allocates nothing; the loops are vectorised; the
// same work whatever the logits and the same bits on every processor.
//
// Relative error of each probability, for up to 2^19 logits: below 1e-15 * (12 + d), where d is
// (largest logit - logit) / temperature. Of it at most 3.4e-16 d comes from the exponent (log2(e),
// its quotient and the product each round once), and the rest from two powers of two a term
// (1.1e-15), from sums of 37 roundings (4.1e-15), from the exponents behind the sum (3.4e-16 times
// the mean d, which is at most log V) and from three products. Probabilities below 2^-1022, the
// least normal double, become 0.
//
// Returns false, with pmf unspecified, if a logit is not finite: the caller decides whether that is
// an error (the public model) or a part that is null for this token (a member).
// Requires: temperature > 0 and finite, pmf.size() == logits.size() > 0.
[[nodiscard]] bool Softmax(std::span<const float> logits, double temperature,
                           std::span<double> pmf);

}  // namespace submix::divergence
