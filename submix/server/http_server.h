// The endpoints: POST /v1/completions and /v1/chat/completions, GET /v1/models, /healthz, /readyz
// and /metrics. Parses, asks the scheduler, writes; decides nothing about privacy.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/chat/chat_format.h"
#include "submix/engine/api_keys.h"
#include "submix/engine/scheduler.h"
#include "submix/server/listener.h"
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

// Thread-safe.
class HttpServer {
 public:
  // Answers from now on. `keys` null: everybody may ask. Both must outlive the server. Errors:
  // those of Listener::Start.
  static base::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options,
                                                           engine::Scheduler& scheduler,
                                                           const engine::ApiKeys* keys);
  // Stops without waiting for answers.
  virtual ~HttpServer() = default;

  virtual int port() const = 0;
  // Graceful stop: /readyz and new completions say 503 at once, those that run go on until
  // `deadline`, the rest is ended; then nothing listens any more.
  virtual void Stop(std::chrono::steady_clock::time_point deadline) = 0;
};

}  // namespace submix::server
