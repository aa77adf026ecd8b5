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

#include "submix/base/status.h"
#include "submix/engine/counters.h"
#include "submix/engine/deployment.h"
#include "submix/server/operator_options.h"

namespace submix::server {

// Thread-safe.
class OperatorServer {
 public:
  // `deployment` and `counters` must outlive it. Errors: kInvalidArgument for a host that is not
  // loopback or a key that is too short; those of Listener::Start.
  static base::StatusOr<std::unique_ptr<OperatorServer>> Start(const OperatorServerOptions& options,
                                                               const engine::Deployment& deployment,
                                                               const engine::Counters& counters);
  virtual ~OperatorServer() = default;
  virtual int port() const = 0;
};

}  // namespace submix::server
