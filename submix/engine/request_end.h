// How the end of a request, and a refusal, are told and counted.
#pragma once

#include <atomic>
#include <cstdint>

#include "submix/base/status.h"
#include "submix/engine/completion.h"
#include "submix/engine/counters.h"

namespace submix::engine {

// What the client of an ended request is told.
base::Status StatusOf(CompletionEnd end);

std::atomic<std::int64_t>& CounterOf(CompletionEnd end, Counters& counters);
std::atomic<std::int64_t>& RefusalCounterOf(base::StatusCode code, Counters& counters);

}  // namespace submix::engine
