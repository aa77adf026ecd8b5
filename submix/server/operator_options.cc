#include "submix/server/operator_options.h"

#include <cstddef>

namespace submix::server {
namespace {

constexpr std::size_t kShortestKey = 16;

}  // namespace

base::Status CheckOperatorOptions(const OperatorServerOptions& options) {
  const std::string& host = options.listener.host;
  if (options.listener.unix_socket.empty() && host != "127.0.0.1" && host != "::1" &&
      host != "localhost") {
    return base::InvalidArgumentError(
        "the operator's listener may only be on loopback or a Unix "
        "socket, not on " +
        host);
  }
  if (options.key.size() < kShortestKey) {
    return base::InvalidArgumentError("the operator's key has " +
                                      std::to_string(options.key.size()) +
                                      " bytes: give at least " + std::to_string(kShortestKey));
  }
  return base::OkStatus();
}

}  // namespace submix::server
