#include "submix/mechanism/baselines/ball_charge.h"

#include <algorithm>
#include <cmath>

#include "submix/divergence/divergence_kernel.h"
#include "submix/divergence/mixing_weight.h"

namespace submix::mechanism {
namespace {

using divergence::RenyiOrder;

constexpr double kLargestRadius = 8;
// Of the ratio's power, in nats: above it the power may not fit a double.
constexpr double kLargestPower = 600;

// The largest D_order(P || Q) with dP/dQ in [1 - l, 1 + u]: a convex function of the ratio, whose
// mean under Q is 1, is largest on the two ends. As 1 + E[g], so that nothing cancels; in
// logarithms where a power is too large for that, and nothing cancels either.
double ChordDivergence(double l, double u, RenyiOrder order) {
  if (u <= 0 || l <= 0) return 0;
  if (order.is_infinite()) return std::log1p(u);
  const double a = order.value();
  const double power = a * std::log1p(u);
  if (power > kLargestPower) {
    const double end = std::exp(a * std::log1p(-l) - power);  // of the lower end against the upper
    return (power - std::log1p(u / l) + std::log1p(u / l * end)) / (a - 1);
  }
  const divergence::DivergenceKernel kernel(order);
  return kernel.DivergenceFromExpectation((l * kernel.G(u) + u * kernel.G(-l)) / (l + u));
}

// Both directions of a ratio in [1 - l, 1 + u].
double LargerDirection(double l, double u, RenyiOrder order) {
  return std::max(ChordDivergence(l, u, order), ChordDivergence(u / (1 + u), l / (1 - l), order));
}

}  // namespace

double BallCharge(const Ball& ball, RenyiOrder order) {
  const double k = ball.num_parts;
  const double q = ball.answer_weight;
  const double c = k * (1 - q) / q + 1 + (k - 1) * std::exp(-ball.radius);
  return LargerDirection(-std::expm1(-ball.radius) / c, std::expm1(ball.radius) / c, order);
}

double BallReplaceCharge(const Ball& ball, RenyiOrder order) {
  const double q = ball.answer_weight;
  const double span = 2 * std::sinh(ball.radius);
  const double excess = q / ball.num_parts * span / (1 - q + q * std::exp(-ball.radius));  // M - 1
  return LargerDirection(excess / (1 + excess), excess, order);
}

double LargestBallRadius(int num_parts, double answer_weight, RenyiOrder order, double limit_nats) {
  return divergence::LargestByHalving(kLargestRadius, 52, [&](double radius) {
    return BallCharge({radius, num_parts, answer_weight}, order) <= limit_nats;
  });
}

}  // namespace submix::mechanism
