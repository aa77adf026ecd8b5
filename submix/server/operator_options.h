// Where the operator's listener may be, and its key.
#pragma once

#include <string>

#include "submix/base/status.h"
#include "submix/server/listener.h"

namespace submix::server {

struct OperatorServerOptions {
  ListenerOptions listener;
  std::string key;  // at least 16 bytes, sent as "Authorization: Bearer KEY"
};

// What may be listened on: kInvalidArgument for what may not.
base::Status CheckOperatorOptions(const OperatorServerOptions& options);

}  // namespace submix::server
