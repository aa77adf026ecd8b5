// Whether models fit into memory, before they are loaded.
#pragma once

#include "submix/base/status.h"
#include "submix/decode/cpu_predictor.h"

namespace submix::apps {

// Says in one line how much memory these models need to answer so many sequences at a time, if that
// is much; small models load without a word. Contexts come on top: how long they get is known when
// clients have asked. Errors: those of CpuPredictor::Plan; kResourceExhausted if it is more than
// there is (base::MemoryLimit).
base::Status CheckMemory(const decode::CpuPredictorOptions& options, int sequences);

}  // namespace submix::apps
