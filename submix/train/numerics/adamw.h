// AdamW (Loshchilov & Hutter 2019) on plain arrays. Every number is updated from its own past
// alone, so members that train side by side cannot touch each other here.
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

// One update: gradients are multiplied by `gradient_scale` (clipping) first; state.step grows by
// one. Requires: parameters, gradients and moments of equal size; vectors that cover them.
void AdamWUpdate(std::span<float> parameters, std::span<const float> gradients,
                 const ParameterVectors& vectors, double learning_rate, double gradient_scale,
                 const AdamWOptions& options, AdamWState& state);

}  // namespace submix::train
