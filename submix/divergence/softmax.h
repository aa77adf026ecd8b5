// From a model's logits to a pmf in double.
#pragma once

#include <span>

namespace submix::divergence {

// pmf[x] = exp(logits[x] / temperature) / sum. Allocates nothing; the loop is vectorised; the same
// bits on every processor. Relative error of each probability below 1e-15 * (5 + its distance in
// logits from the largest); probabilities below exp(-708) of the largest become 0.
// Returns false, with pmf unspecified, if a logit is not finite: the caller decides whether that is
// an error (the public model) or a part that is null for this token (a member).
// Requires: temperature > 0 and finite, pmf.size() == logits.size() > 0.
[[nodiscard]] bool Softmax(std::span<const float> logits, double temperature,
                           std::span<double> pmf);

}  // namespace submix::divergence
