// Whether models fit into this machine, known before they are loaded.
#pragma once

#include "submix/base/status.h"
#include "submix/decode/cpu_predictor.h"

namespace submix::workbench {

// Says in one line, on the log, how much memory the models need to answer so many sequences at a
// time, if that is much. Contexts come on top: how long they get is known when clients have asked.
// Errors: those of CpuPredictor::Plan; kResourceExhausted if it is more than there is.
base::Status CheckMemory(const decode::CpuPredictorOptions& options, int sequences);

}  // namespace submix::workbench
