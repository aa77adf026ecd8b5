// The completions of one HTTP request, together.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "submix/engine/scheduler.h"
#include "submix/server/openai_request.h"
#include "submix/server/openai_response.h"

namespace submix::server {

// One thread at a time. Destroying it cancels what still runs.
class RunningCall {
 public:
  // `submissions`: one a choice, in the order of their index. Errors: those of Scheduler::Submit.
  static base::StatusOr<RunningCall> Start(engine::Scheduler& scheduler,
                                           std::vector<engine::Submission> submissions);

  // As Completion::SetWaker, for all of them.
  void SetWaker(const std::function<void()>& wake, engine::WakeFor wakes_for);
  // What has come since, at most one piece a choice. Does not wait.
  std::vector<Choice> Next();
  // Counts what has come since and drops it.
  void DropTokens();
  bool ended() const;
  // Of the first choice that did not end well.
  std::optional<ApiError> error() const;
  std::int64_t tokens() const { return tokens_; }

 private:
  RunningCall() = default;

  std::vector<std::unique_ptr<engine::Completion>> completions_;
  std::int64_t tokens_ = 0;
};

// What a client is told where Submit refuses, or a completion ends badly.
ApiError RefusalError(const base::Status& status);

}  // namespace submix::server
