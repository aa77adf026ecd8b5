// Noise on the integers, drawn by whole-number arithmetic alone, so that its law is exactly the one
// that is accounted. Source: Canonne, Kamath, Steinke 2020 (arXiv 2004.00010), Algorithms 1 to 3.
//
//     discrete Laplace    P(x) proportional to exp(-|x| / scale)
//     discrete Gaussian   P(x) proportional to exp(-x^2 / (2 variance))
//
// A shift by a whole number d costs, at every order a, at most a d^2 / (2 variance) with the
// Gaussian (their Theorem 4), and DiscreteLaplaceDivergence with the Laplace.
//
// How long a draw takes depends on what is drawn: durations are outside the threat model.
#pragma once

#include <cstdint>

#include "submix/base/random.h"
#include "submix/divergence/renyi_order.h"

namespace submix::mechanism {

// numerator / denominator. Plain value; need not be in lowest terms.
struct Ratio {
  std::uint64_t numerator = 0;
  std::uint64_t denominator = 1;
};

// True with probability exp(-exponent). Fewer than 3 uniform integers on average.
// Requires: denominator > 0.
bool DrawBernoulliExp(base::RandomSource& random, Ratio exponent);

// Requires: numerator and denominator of the scale in [1, kLargestLaplaceTerm]. About 9
// uniform integers on average (12 at most), 0.2 microseconds. Noise of 2^15 scales or more, which
// has probability exp(-2^15), ends the process.
inline constexpr std::uint64_t kLargestLaplaceTerm = std::uint64_t{1} << 47;
std::int64_t DrawDiscreteLaplace(base::RandomSource& random, Ratio scale);

// Requires: numerator and denominator of the variance in [1, kLargestVarianceTerm]. About 14
// uniform integers on average (27 at most), 0.3 microseconds.
inline constexpr std::uint64_t kLargestVarianceTerm = std::uint64_t{1} << 61;
std::int64_t DrawDiscreteGaussian(base::RandomSource& random, Ratio variance);

// D_order(X + shift || X), in nats, of discrete Laplace noise X: exact, the same in both
// directions, and rounded outward. Convex in the shift and zero at zero, so that shifts on several
// coordinates cost at most what their sum does on one. Immutable; thread-safe.
class DiscreteLaplaceDivergence {
 public:
  // Requires: order >= 1, scale as above.
  DiscreteLaplaceDivergence(Ratio scale, divergence::RenyiOrder order);

  double operator()(std::uint64_t shift) const;

 private:
  double inverse_scale_;    // u
  double order_;            // a
  double share_of_middle_;  // c, see the definition
};

}  // namespace submix::mechanism
