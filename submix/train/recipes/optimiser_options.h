// What AdamW (Loshchilov & Hutter 2019) is told, and its learning rates. Torch-free.
#pragma once

#include <cstdint>

namespace submix::train {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double denominator_floor = 1e-8;  // the papers' epsilon
  double weight_decay = 0;          // decoupled: w -= learning_rate * weight_decay * w
};

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
