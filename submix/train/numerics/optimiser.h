// AdamW (Loshchilov & Hutter 2019) on plain arrays. Every number is updated from its own past
// alone, so members that train side by side cannot touch each other here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "submix/train/kernels/parameter_vectors.h"
#include "submix/train/recipes/optimiser_options.h"

namespace submix::train {

// The optimiser's memory of one member's N parameters.
struct AdamWState {
  explicit AdamWState(std::size_t num_parameters)
      : first_moment(num_parameters), second_moment(num_parameters) {}

  std::vector<float> first_moment;   // [N]
  std::vector<float> second_moment;  // [N]
  std::int64_t step = 0;             // updates done
};

// One update: gradients are multiplied by `gradient_scale` (clipping) first; state.step grows by
// one. Requires: parameters, gradients and moments of equal size; vectors that cover them.
void AdamWUpdate(std::span<float> parameters, std::span<const float> gradients,
                 const ParameterVectors& vectors, double learning_rate, double gradient_scale,
                 const AdamWOptions& options, AdamWState& state);

}  // namespace submix::train
