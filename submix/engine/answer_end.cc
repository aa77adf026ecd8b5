#include "submix/engine/answer_end.h"

#include "submix/base/check.h"

namespace submix::engine {

base::Status StatusOf(AnswerEnd end) {
  switch (end) {
    case AnswerEnd::kNotYet:
    case AnswerEnd::kStop:
    case AnswerEnd::kMaxTokens:
      return base::OkStatus();
    case AnswerEnd::kCancelled:
      return base::UnavailableError("the request was cancelled");
    case AnswerEnd::kDeadline:
      return base::UnavailableError("the request's time is over");
    case AnswerEnd::kExhausted:
      return base::FailedPreconditionError(
          "the fixed number of tokens of this deployment is used up, and it was declared that it "
          "then refuses");
    case AnswerEnd::kStopped:
      return base::UnavailableError("the engine stops; try again later");
    case AnswerEnd::kFailed:
      return base::UnavailableError(
          "no answers at present: a step failed or its charge could not be written down, and then "
          "nothing is released; try again later");
    case AnswerEnd::kNoPrediction:
      return base::InternalError("the public model has no finite numbers for this prompt");
  }
  SUBMIX_CHECK(false, "an end without a status");
}

}  // namespace submix::engine
