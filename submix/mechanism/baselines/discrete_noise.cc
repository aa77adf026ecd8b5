#include "submix/mechanism/baselines/discrete_noise.h"

#include <algorithm>
#include <cmath>

#include "submix/base/check.h"

namespace submix::mechanism {
namespace {

using base::RandomSource;
using Wide = unsigned __int128;

constexpr Ratio kOne = {1, 1};

// True with probability `ratio` <= 1.
bool DrawBernoulli(RandomSource& random, Ratio ratio) {
  return ratio.numerator == ratio.denominator ||
         random.NextBernoulli(ratio.numerator, ratio.denominator);
}

// exp(-a b) for a, b in [0, 1], by the alternating series of the exponential: the first of the
// independent events "a and b and 1/n", n = 1, 2, …, that fails has an odd number. Factors are
// drawn one by one, so that their product is never formed.
bool DrawBernoulliExpOfProduct(RandomSource& random, Ratio a, Ratio b) {
  std::uint64_t n = 1;
  while (DrawBernoulli(random, a) && DrawBernoulli(random, b) && DrawBernoulli(random, {1, n})) ++n;
  return n % 2 == 1;
}

// A non-negative number as a whole one and a fraction below 1.
struct Parts {
  Wide whole;
  Ratio fraction;
};

Parts Split(Wide numerator, std::uint64_t denominator) {
  return {numerator / denominator,
          {static_cast<std::uint64_t>(numerator % denominator), denominator}};
}

// exp(-whole factor): one draw of exp(-factor) for each, until the first that fails.
bool DrawBernoulliExpTimes(RandomSource& random, Wide whole, Ratio factor) {
  for (Wide i = 0; i < whole; ++i) {
    if (!DrawBernoulliExpOfProduct(random, factor, kOne)) return false;
  }
  return true;
}

// exp(-x y) = exp(-whole(x) y) exp(-fraction(x) whole(y)) exp(-fraction(x) fraction(y)).
// Cheap if neither is huge while the other is tiny.
bool DrawBernoulliExpOfProduct(RandomSource& random, const Parts& x, const Parts& y) {
  for (Wide i = 0; i < x.whole; ++i) {
    if (!DrawBernoulliExpTimes(random, y.whole, kOne)) return false;
    if (!DrawBernoulliExpOfProduct(random, y.fraction, kOne)) return false;
  }
  return DrawBernoulliExpTimes(random, y.whole, x.fraction) &&
         DrawBernoulliExpOfProduct(random, x.fraction, y.fraction);
}

// How many draws of exp(-1) succeed before the first that fails.
std::int64_t DrawGeometric(RandomSource& random) {
  std::int64_t count = 0;
  while (DrawBernoulliExpOfProduct(random, kOne, kOne)) ++count;
  constexpr std::int64_t kLargest = std::int64_t{1} << 15;
  SUBMIX_CHECK(count < kLargest, "noise beyond 64 bits, which has probability exp(-2^15)");
  return count;
}

bool IsWithin(Ratio ratio, std::uint64_t largest) {
  return ratio.numerator >= 1 && ratio.numerator <= largest && ratio.denominator >= 1 &&
         ratio.denominator <= largest;
}

// floor(sqrt(value)).
std::uint64_t FloorSqrt(std::uint64_t value) {
  auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(value)));
  while (Wide{root} * root > value) --root;
  while (Wide{root + 1} * (root + 1) <= value) ++root;
  return root;
}

}  // namespace

bool DrawBernoulliExp(RandomSource& random, Ratio exponent) {
  SUBMIX_CHECK(exponent.denominator > 0, "a ratio needs a denominator");
  const Parts parts = Split(exponent.numerator, exponent.denominator);
  return DrawBernoulliExpTimes(random, parts.whole, kOne) &&
         DrawBernoulliExpOfProduct(random, parts.fraction, kOne);
}

std::int64_t DrawDiscreteLaplace(RandomSource& random, Ratio scale) {
  SUBMIX_CHECK(IsWithin(scale, kLargestLaplaceTerm), "a Laplace scale out of range");
  for (;;) {
    // remainder + numerator * geometric has the law of exp(-x / numerator) on 0, 1, 2, …; its
    // quotient by the denominator that of exp(-x / scale).
    const std::uint64_t remainder = random.NextBelow(scale.numerator);
    if (!DrawBernoulliExpOfProduct(random, {remainder, scale.numerator}, kOne)) continue;
    const std::int64_t geometric = DrawGeometric(random);
    const auto magnitude = (static_cast<std::int64_t>(remainder) +
                            static_cast<std::int64_t>(scale.numerator) * geometric) /
                           static_cast<std::int64_t>(scale.denominator);
    const bool is_negative = random.NextBernoulli(1, 2);
    if (is_negative && magnitude == 0) continue;  // or zero would count twice
    return is_negative ? -magnitude : magnitude;
  }
}

std::int64_t DrawDiscreteGaussian(RandomSource& random, Ratio variance) {
  SUBMIX_CHECK(IsWithin(variance, kLargestVarianceTerm), "a Gaussian variance out of range");
  const auto [p, q] = variance;
  const std::uint64_t t = FloorSqrt(p / q) + 1;
  // y ~ discrete Laplace of scale t is kept with probability exp(-(|y| - p/(q t))^2 q / (2 p)),
  // that is exp(-n/(2 p) * n/(q t^2)) with n = | |y| q t - p |. Here q t^2 <= 4 max(p, q) <= 2^63.
  for (;;) {
    const std::int64_t y = DrawDiscreteLaplace(random, {t, 1});
    const Wide product = Wide{static_cast<std::uint64_t>(y < 0 ? -y : y)} * q * t;
    const Wide n = product > p ? product - p : p - product;
    if (DrawBernoulliExpOfProduct(random, Split(n, 2 * p), Split(n, q * t * t))) return y;
  }
}

// With u = 1 / scale, r = shift u and s = (2a-1) u, summing P(x)^a P(x - shift)^(1-a) left of,
// between and right of the two peaks gives e^((a-1) r) (1 - c (1 - e^(-(2a-1) r))),
//     c = e^-u (1 - e^(-2(a-1) u)) / ((1 + e^-u) (1 - e^-s)) <= 1/2,
// in the limit a = 1  r - c (1 - e^-r) with c = 2 e^-u u / (1 - e^(-2u)), and at infinity r.
DiscreteLaplaceDivergence::DiscreteLaplaceDivergence(Ratio scale, divergence::RenyiOrder order)
    : inverse_scale_(static_cast<double>(scale.denominator) / static_cast<double>(scale.numerator)),
      order_(order.value()),
      share_of_middle_(0) {
  SUBMIX_CHECK(IsWithin(scale, kLargestLaplaceTerm), "a Laplace scale out of range");
  SUBMIX_CHECK(order_ >= 1, "orders below 1 have no charge");
  const double u = inverse_scale_;
  if (order.is_one()) {
    share_of_middle_ = -2 * std::exp(-u) * u / std::expm1(-2 * u);
  } else if (!order.is_infinite()) {
    share_of_middle_ = std::exp(-u) / (1 + std::exp(-u)) * std::expm1(-2 * (order_ - 1) * u) /
                       std::expm1(-(2 * order_ - 1) * u);
  }
}

double DiscreteLaplaceDivergence::operator()(std::uint64_t shift) const {
  if (shift == 0) return 0;
  const double r = static_cast<double>(shift) * inverse_scale_;
  double saved = 0;  // what is below the pure r
  if (order_ == 1) {
    saved = -share_of_middle_ * std::expm1(-r);
  } else if (share_of_middle_ > 0) {
    saved = -std::log1p(share_of_middle_ * std::expm1(-(2 * order_ - 1) * r)) / (order_ - 1);
  }
  // r and what it saves each carry a few roundings.
  constexpr double kSlack = 0x1p-48;
  return std::max(0.0, r - saved) + kSlack * r;
}

}  // namespace submix::mechanism
