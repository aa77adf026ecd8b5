#include "submix/server/running_call.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace submix::server {
namespace {

using engine::CompletionEnd;

constexpr std::chrono::nanoseconds kAtOnce{0};

bool IsRunning(const std::unique_ptr<engine::Completion>& completion) {
  return completion->end() == CompletionEnd::kRunning;
}

ApiError EndError(CompletionEnd end, const base::Status& status) {
  ApiError error = RefusalError(status);
  if (end == CompletionEnd::kDeadline) {
    error.status = 504;
    error.code = "timeout";
  }
  return error;
}

}  // namespace

base::StatusOr<RunningCall> RunningCall::Start(engine::Scheduler& scheduler,
                                               std::vector<engine::Submission> submissions) {
  RunningCall call;
  SUBMIX_ASSIGN_OR_RETURN(call.completions_, scheduler.Submit(std::move(submissions)));
  return call;
}

void RunningCall::SetWaker(const std::function<void()>& wake, engine::WakeFor wakes_for) {
  for (const auto& completion : completions_) completion->SetWaker(wake, wakes_for);
}

std::vector<Choice> RunningCall::Next() {
  std::vector<Choice> choices;
  for (std::size_t i = 0; i < completions_.size(); ++i) {
    if (!IsRunning(completions_[i])) continue;
    const auto event = completions_[i]->Next(kAtOnce);
    if (!event) continue;
    ++tokens_;
    choices.push_back({static_cast<int>(i), event->text, event->finish_reason});
  }
  return choices;
}

void RunningCall::DropTokens() {
  for (const auto& completion : completions_) {
    while (completion->Next(kAtOnce)) ++tokens_;
  }
}

bool RunningCall::ended() const { return std::ranges::none_of(completions_, IsRunning); }

std::optional<ApiError> RunningCall::error() const {
  for (const auto& completion : completions_) {
    const base::Status status = completion->status();
    if (!status.ok()) return EndError(completion->end(), status);
  }
  return std::nullopt;
}

ApiError RefusalError(const base::Status& status) {
  ApiError error{.message = status.message()};
  switch (status.code()) {
    case base::StatusCode::kInvalidArgument:
      error.param = "prompt";  // the one field whose range the parser of bodies does not know
      break;
    case base::StatusCode::kFailedPrecondition:
      error.status = 429;
      error.type = error.code = "insufficient_quota";
      break;
    case base::StatusCode::kResourceExhausted:
      error.status = 429;
      error.type = "requests";
      error.code = "rate_limit_exceeded";
      break;
    case base::StatusCode::kInternal:
      error.status = 500;
      error.type = "server_error";
      error.code = "no_prediction";
      break;
    default:
      error.status = 503;
      error.type = "server_error";
      error.code = "unavailable";
  }
  return error;
}

}  // namespace submix::server
