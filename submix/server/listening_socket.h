// The socket that clients connect to.
#pragma once

#include "submix/base/status.h"
#include "submix/server/listener.h"

namespace submix::server {

struct ListeningSocket {
  int descriptor = -1;  // the caller's; non-blocking
  int family = 0;
  int port = 0;  // of TCP
};

// Binds and listens. Errors: kUnavailable, saying why.
base::StatusOr<ListeningSocket> OpenListeningSocket(const ListenerOptions& options);

// Whether this machine has the address, whoever listens on its port at present. Errors: as above.
base::Status CheckListeningAddress(const ListenerOptions& options);

}  // namespace submix::server
