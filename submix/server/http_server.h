// The endpoints: POST /v1/completions and /v1/chat/completions, GET /v1/models, /healthz, /readyz
// and /metrics. Parses, asks the scheduler, writes; decides nothing about privacy.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "submix/base/status.h"
#include "submix/chat/chat_format.h"
#include "submix/engine/api_keys.h"
#include "submix/engine/scheduler.h"
#include "submix/server/listener.h"
#include "submix/server/metrics.h"
#include "submix/server/openai_request.h"
#include "submix/server/request_visit.h"

namespace submix::server {

struct HttpServerOptions {
  ListenerOptions listener;
  ParseOptions parse;
  std::string model;         // the only one that is served
  std::int64_t created = 0;  // when, in seconds since 1970
  // How conversations are written for the model; not null.
  std::shared_ptr<const chat::ChatFormat> chat_format;
  bool metrics = true;
  int chat_max_tokens = 256;                  // of a chat that gives none, where the context allows
  std::chrono::milliseconds request_time{0};  // most for one request; 0: no limit
  // Where no keys are asked for: names that clients may call this server, beside its own host and
  // those of this machine; without port.
  std::vector<std::string> allowed_hosts;
  std::function<void(const RequestRecord&)> on_request;  // called by several threads at once
};

// How many completion requests are between their arrival and their last byte.
class OpenRequests {
 public:
  void Enter() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  void Leave() {
    const std::lock_guard lock(mutex_);
    --count_;
    changed_.notify_all();
  }
  void WaitUntilNone(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline, [&] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;  // guarded by mutex_
};

// Thread-safe.
class HttpServer final : private HttpHandler {
 public:
  // Answers from now on. `keys` null: everybody may ask. Both must outlive the server, whose end
  // waits for no answer. Errors: those of Listener::Start.
  static base::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options,
                                                           engine::Scheduler& scheduler,
                                                           const engine::ApiKeys* keys);

  int port() const { return listener_->port(); }
  // Graceful stop: /readyz and new completions say 503 at once, those that run go on until
  // `deadline`, the rest is ended; then nothing listens any more.
  void Stop(std::chrono::steady_clock::time_point deadline);

 private:
  HttpServer(const HttpServerOptions& options, engine::Scheduler& scheduler,
             const engine::ApiKeys* keys);

  bool TakesBody(const HttpRequest& head) const override;
  std::optional<HttpResponse> Refuse(HttpRequest& head) override;
  bool TakesLong(const HttpRequest& request) const override;
  HttpResponse Handle(const HttpRequest& request) override;
  HttpResponse Error(int status, const HttpRequest& head) override;

  // Counts and records it at its end.
  std::unique_ptr<RequestVisit> Arrive(const HttpRequest& request);
  // Counted and recorded where it was to be a completion.
  HttpResponse Fail(const ApiError& error, const HttpRequest& request);
  HttpResponse MethodError(const char* allowed, const HttpRequest& request);
  // Also leaves the key with the request.
  std::optional<ApiError> WhyRefused(HttpRequest& head) const;
  HttpResponse Models(const HttpRequest& request) const;
  HttpResponse Ready() const;
  HttpResponse Complete(Endpoint endpoint, const HttpRequest& request);
  std::variant<std::vector<engine::Submission>, ApiError> Submissions(const CompletionCall& call,
                                                                      const HttpRequest& request,
                                                                      const engine::ApiKey& key,
                                                                      RequestRecord& record) const;
  std::optional<ApiError> SetPrompt(const CompletionCall& call, const Prompt& prompt,
                                    engine::Request& request) const;
  std::optional<ApiError> CheckLength(const CompletionCall& call, std::size_t bytes) const;
  std::optional<ApiError> SetLength(const CompletionCall& call, engine::Request& request) const;

  const HttpServerOptions options_;
  engine::Scheduler& scheduler_;
  const engine::ApiKeys* const keys_;
  std::atomic<bool> is_draining_{false};
  OpenRequests open_requests_;
  StatusCounts answers_;
  std::unique_ptr<Listener> listener_;  // last: its threads use what is above
};

}  // namespace submix::server
