#include "submix/eval/measuring/machine_times.h"

#include <cmath>

namespace submix::eval {

double TrainingMinutes(const MachineTimes& times, const Contender& contender) {
  const PlanInput& input = contender.input;
  const double positions =
      input.users * std::ceil(input.tokens_a_user / times.block_positions) * times.block_positions;
  double seconds_a_position = 0;
  if (contender.is_ensemble()) {
    seconds_a_position += contender.passes / times.ensemble_positions_a_second;
  }
  if (contender.steps > 0) {
    seconds_a_position += static_cast<double>(contender.steps) * contender.sampling_probability /
                          times.dp_sgd_positions_a_second;
  }
  return seconds_a_position * positions / 60;
}

double TokenMilliseconds(const MachineTimes& times, const Contender& contender) {
  return times.public_milliseconds +
         (contender.is_ensemble() ? contender.parts * times.member_milliseconds : 0);
}

}  // namespace submix::eval
