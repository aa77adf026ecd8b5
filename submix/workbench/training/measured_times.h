// What ways to answer take on this machine, by a calibration of some seconds on random tokens,
// which is made once and kept in the cache (base/cache_directory.h).
#pragma once

#include <string>

#include "submix/base/status.h"
#include "submix/eval/measuring/machine_times.h"

namespace submix::workbench {

// Shows a progress bar while it measures. One thread at a time. Errors: those of reading the public
// model; kUnimplemented in `submix`, which leaves `plan --minutes` to `submix-train`.
base::StatusOr<eval::MachineTimes> MeasureTimes(const std::string& public_directory,
                                                double tokens_a_user);

}  // namespace submix::workbench
