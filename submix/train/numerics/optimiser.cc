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

double GradientNorm(std::span<const float> gradients) {
  const auto size = static_cast<std::int64_t>(gradients.size());
  const std::int64_t chunks = (size + kGrain - 1) / kGrain;
  std::vector<double> partial(static_cast<std::size_t>(chunks));
  at::parallel_for(0, chunks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      double sum = 0;
      const std::int64_t last = std::min(size, (chunk + 1) * kGrain);
      for (std::int64_t i = chunk * kGrain; i < last; ++i) {
        const double g = gradients[static_cast<std::size_t>(i)];
        sum += g * g;
      }
      partial[static_cast<std::size_t>(chunk)] = sum;
    }
  });
  double total = 0;
  for (const double sum : partial) total += sum;
  return std::sqrt(total);
}

// In double, squares of float32 neither overflow nor cancel.
bool AreFinite(std::span<const float> numbers) { return std::isfinite(GradientNorm(numbers)); }

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

double LearningRate(const LearningRateSchedule& schedule, std::int64_t step,
                    std::int64_t total_steps) {
  SUBMIX_CHECK(step >= 0 && step < total_steps, "step beyond the plan");
  const auto total = static_cast<double>(total_steps);
  const double warmup = schedule.warmup_steps > 0 ? static_cast<double>(schedule.warmup_steps)
                                                  : std::ceil(schedule.warmup_fraction * total);
  const auto done = static_cast<double>(step) + 1;
  if (done <= warmup) return schedule.peak * done / warmup;
  if (schedule.decay == Decay::kConstant) return schedule.peak;
  const double progress = std::min(1.0, (done - warmup) / std::max(1.0, total - warmup));
  const double shape = schedule.decay == Decay::kCosine
                           ? 0.5 * (1 + std::cos(std::numbers::pi * progress))
                           : 1 - progress;
  return schedule.peak * (schedule.final_fraction + (1 - schedule.final_fraction) * shape);
}

}  // namespace submix::train
