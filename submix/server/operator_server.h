// The ledger, for the operator alone (contract 7): never on the public port; off unless asked for;
// loopback or a Unix socket; a key of its own.
//
//   GET /ledger          spent and budget of every part, answers left in the worst case, head
//   GET /ledger/verify   the same, after the whole chain was recomputed: its state
//   GET /metrics         Prometheus' text: how long steps take
//
// Whoever reads this and tells others, or decides by it, releases it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "submix/base/status.h"
#include "submix/engine/counters.h"
#include "submix/engine/deployment.h"
#include "submix/server/listener.h"

namespace submix::server {

struct OperatorServerOptions {
  ListenerOptions listener;
  std::string key;  // at least 16 bytes, sent as "Authorization: Bearer KEY"
};

// What may be listened on: kInvalidArgument for a host that is not loopback or a key that is too
// short.
base::Status CheckOperatorOptions(const OperatorServerOptions& options);

// Thread-safe.
class OperatorServer {
 public:
  // `deployment` and `counters` must outlive it. Errors: those of CheckOperatorOptions and of
  // Listener::Start.
  static base::StatusOr<std::unique_ptr<OperatorServer>> Start(const OperatorServerOptions& options,
                                                               const engine::Deployment& deployment,
                                                               const engine::Counters& counters);
  int port() const { return listener_->port(); }

 private:
  explicit OperatorServer(std::unique_ptr<HttpHandler> handler) : handler_(std::move(handler)) {}

  const std::unique_ptr<HttpHandler> handler_;
  std::unique_ptr<Listener> listener_;  // last: its threads use the handler
};

}  // namespace submix::server
