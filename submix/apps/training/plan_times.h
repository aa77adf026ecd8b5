// What ways to answer take on this machine, by a calibration of some seconds on random tokens.
#pragma once

#include <string>

#include "submix/base/status.h"

namespace submix::apps {

// As the commands of `submix plan` train and answer, on all processors; what else runs meanwhile
// slows it down.
struct MachineTimes {
  int block_positions = 0;  // that a user's text is filled up to in training
  double ensemble_positions_a_second = 0;
  double dp_sgd_positions_a_second = 0;
  // One answer alone: of the public model, and what each member adds.
  double public_milliseconds = 0;
  double member_milliseconds = 0;
};

// Shows a progress bar. One thread at a time. Errors: those of reading the public model;
// kUnimplemented in `submix`, which leaves `plan --minutes` to `submix-train`.
base::StatusOr<MachineTimes> MeasureTimes(const std::string& public_directory,
                                          double tokens_a_user);

}  // namespace submix::apps
