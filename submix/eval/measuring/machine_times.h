// What a way to answer takes on a machine that was measured.
#pragma once

#include <optional>
#include <string>

#include "submix/eval/measuring/contenders.h"

namespace submix::eval {

// As the commands of `submix plan` train and answer, on all processors; what else runs meanwhile
// slows it down.
struct MachineTimes {
  int block_positions = 0;  // that a user's text is filled up to in training
  double ensemble_positions_a_second = 0;
  double dp_sgd_positions_a_second = 0;
  // One token alone: of the public model, and what each member adds.
  double public_milliseconds = 0;
  double member_milliseconds = 0;
};

// Of the whole training, that of a model below an ensemble included.
double TrainingMinutes(const MachineTimes& times, const Contender& contender);
double TokenMilliseconds(const MachineTimes& times, const Contender& contender);

// As files have them, and back, the same numbers; none for anything else.
std::string TimesText(const MachineTimes& times);
std::optional<MachineTimes> ParseTimes(const std::string& text);

}  // namespace submix::eval
