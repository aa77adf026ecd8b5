#include "submix/engine/request_end.h"

#include "submix/base/check.h"
#include "submix/engine/engine_core.h"
#include "submix/engine/exhaustion.h"

namespace submix::engine {

using base::Status;

Status StatusOf(CompletionEnd end) {
  switch (end) {
    case CompletionEnd::kRunning:
    case CompletionEnd::kFinished:
      return base::OkStatus();
    case CompletionEnd::kCancelled:
      return base::UnavailableError("the request was cancelled");
    case CompletionEnd::kDeadline:
      return base::UnavailableError("the request's time is over");
    case CompletionEnd::kExhausted:
      return ExhaustedError();
    case CompletionEnd::kStopped:
      return base::UnavailableError("the engine stops; try again later");
    case CompletionEnd::kFailed:
      return base::UnavailableError(
          "no answers at present: a step failed or its charge could not be written down, and then "
          "nothing is released; try again later");
    case CompletionEnd::kNoPrediction:
      return NoPredictionError();
  }
  SUBMIX_CHECK(false, "an end without a status");
}

std::atomic<std::int64_t>& CounterOf(CompletionEnd end, Counters& counters) {
  switch (end) {
    case CompletionEnd::kFinished:
      return counters.finished;
    case CompletionEnd::kDeadline:
      return counters.deadlines;
    case CompletionEnd::kExhausted:
      return counters.refused_exhausted;
    case CompletionEnd::kStopped:
      return counters.stopped;
    case CompletionEnd::kFailed:
    case CompletionEnd::kNoPrediction:
      return counters.failed;
    default:
      return counters.cancelled;
  }
}

std::atomic<std::int64_t>& RefusalCounterOf(base::StatusCode code, Counters& counters) {
  switch (code) {
    case base::StatusCode::kInvalidArgument:
      return counters.refused_invalid;
    case base::StatusCode::kResourceExhausted:
      return counters.refused_full;
    case base::StatusCode::kFailedPrecondition:
      return counters.refused_quota;
    default:
      return counters.refused_unavailable;
  }
}

}  // namespace submix::engine
