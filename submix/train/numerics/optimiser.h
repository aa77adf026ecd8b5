// AdamW (Loshchilov & Hutter 2019) on plain arrays, and its learning rates. Every number is updated
// from its own past alone, so members that train side by side cannot touch each other here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "submix/train/numerics/parameter_vectors.h"

namespace submix::train {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double denominator_floor = 1e-8;  // the papers' epsilon
  double weight_decay = 0;          // decoupled: w -= learning_rate * weight_decay * w
};

// The optimiser's memory of one member's N parameters.
struct AdamWState {
  explicit AdamWState(std::size_t num_parameters)
      : first_moment(num_parameters), second_moment(num_parameters) {}

  std::vector<float> first_moment;   // [N]
  std::vector<float> second_moment;  // [N]
  std::int64_t step = 0;             // updates done
};

// The Euclidean norm, summed in double in an order that does not depend on the number of threads.
double GradientNorm(std::span<const float> gradients);

// Whether each of the numbers is.
bool AreFinite(std::span<const float> numbers);

// One update: gradients are multiplied by `gradient_scale` (clipping) first; state.step grows by
// one. Requires: parameters, gradients and moments of equal size; vectors that cover them.
void AdamWUpdate(std::span<float> parameters, std::span<const float> gradients,
                 const ParameterVectors& vectors, double learning_rate, double gradient_scale,
                 const AdamWOptions& options, AdamWState& state);

// Learning-rate schedules: linear warm-up, then constant or a decay. Functions of the step and of
// the planned number of steps alone, so a member's rate depends on its own text only.
enum class Decay { kConstant, kCosine, kLinear };

struct LearningRateSchedule {
  double peak = 1e-4;
  // Share of the planned steps during which the rate climbs linearly from 0, in [0, 1]. 1 is what
  // the SubMix paper states: as many warm-up steps as batches.
  double warmup_fraction = 1;
  // If positive, this many steps instead.
  std::int64_t warmup_steps = 0;
  Decay decay = Decay::kConstant;
  double final_fraction = 0;  // of the peak, where a decay ends, in [0, 1]
};

// The rate of update `step` (0-based) of `total_steps`. Requires: 0 <= step < total_steps.
double LearningRate(const LearningRateSchedule& schedule, std::int64_t step,
                    std::int64_t total_steps);

}  // namespace submix::train
