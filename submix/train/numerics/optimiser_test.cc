#include "submix/train/numerics/optimiser.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace submix::train {
namespace optimiser_test {

TEST(AdamWTest, FollowsTheFormulaOfThePaper) {
  const AdamWOptions options = {
      .beta1 = 0.9, .beta2 = 0.99, .denominator_floor = 1e-8, .weight_decay = 0.1};
  std::vector<float> parameters = {1.0f, -2.0f};
  AdamWState state(2);
  const ParameterVectors vectors = {{"decays", {1}, 0, 1, true}, {"stays", {1}, 1, 2, false}};
  double w0 = 1, w1 = -2, m0 = 0, m1 = 0, v0 = 0, v1 = 0;
  for (int step = 1; step <= 5; ++step) {
    const std::vector<float> gradients = {0.5f * static_cast<float>(step), -0.25f};
    AdamWUpdate(parameters, gradients, vectors, 0.01, 0.5, options, state);
    const auto update = [&](double& w, double& m, double& v, double g, double decay) {
      m = 0.9 * m + 0.1 * g;
      v = 0.99 * v + 0.01 * g * g;
      w *= 1 - 0.01 * decay;
      w -= 0.01 * (m / (1 - std::pow(0.9, step))) /
           (std::sqrt(v / (1 - std::pow(0.99, step))) + 1e-8);
    };
    update(w0, m0, v0, 0.25 * step, 0.1);
    update(w1, m1, v1, -0.125, 0);
  }
  EXPECT_EQ(state.step, 5);
  EXPECT_NEAR(parameters[0], w0, 1e-6);
  EXPECT_NEAR(parameters[1], w1, 1e-6);
}

}  // namespace optimiser_test
}  // namespace submix::train
