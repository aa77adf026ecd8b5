#include "submix/train/numerics/optimiser.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <ATen/Parallel.h>

#include "submix/base/check.h"

namespace submix::train {
namespace {

constexpr std::int64_t kGrain = 1 << 14;

struct Coefficients {
  float beta1, beta2, gradient_scale, step_size, inverse_correction, denominator_floor, decay;
};

void UpdateRange(float* __restrict parameter, const float* __restrict gradient,
                 float* __restrict first, float* __restrict second, std::int64_t count,
                 const Coefficients c) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = gradient[i] * c.gradient_scale;
    const float m = c.beta1 * first[i] + (1.0f - c.beta1) * g;
    const float v = c.beta2 * second[i] + (1.0f - c.beta2) * g * g;
    first[i] = m;
    second[i] = v;
    const float denominator = std::sqrt(v * c.inverse_correction) + c.denominator_floor;
    parameter[i] = parameter[i] * c.decay - c.step_size * m / denominator;
  }
}

}  // namespace

void AdamWUpdate(std::span<float> parameters, std::span<const float> gradients,
                 const ParameterVectors& vectors, double learning_rate, double gradient_scale,
                 const AdamWOptions& options, AdamWState& state) {
  SUBMIX_CHECK(gradients.size() == parameters.size() &&
                   state.first_moment.size() == parameters.size() &&
                   state.second_moment.size() == parameters.size(),
               "AdamW arrays of different sizes");
  ++state.step;
  const auto step = static_cast<double>(state.step);
  Coefficients c;
  c.beta1 = static_cast<float>(options.beta1);
  c.beta2 = static_cast<float>(options.beta2);
  c.gradient_scale = static_cast<float>(gradient_scale);
  c.step_size = static_cast<float>(learning_rate / (1 - std::pow(options.beta1, step)));
  c.inverse_correction = static_cast<float>(1 / (1 - std::pow(options.beta2, step)));
  c.denominator_floor = static_cast<float>(options.denominator_floor);
  for (const ParameterVector& vector : vectors) {
    c.decay = vector.decays ? static_cast<float>(1 - learning_rate * options.weight_decay) : 1.0f;
    at::parallel_for(static_cast<std::int64_t>(vector.begin), static_cast<std::int64_t>(vector.end),
                     kGrain, [&](std::int64_t begin, std::int64_t end) {
                       UpdateRange(parameters.data() + begin, gradients.data() + begin,
                                   state.first_moment.data() + begin,
                                   state.second_moment.data() + begin, end - begin, c);
                     });
  }
}

}  // namespace submix::train
