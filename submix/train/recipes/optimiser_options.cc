#include "submix/train/recipes/optimiser_options.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "submix/base/check.h"

namespace submix::train {

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
