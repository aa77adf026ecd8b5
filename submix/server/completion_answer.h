// The answer to a completion request whose tokens are still to come: whole, or as a stream of
// events.
#pragma once

#include <cstddef>
#include <memory>

#include "submix/server/listener.h"
#include "submix/server/openai_response.h"
#include "submix/server/request_visit.h"
#include "submix/server/running_call.h"

namespace submix::server {

struct AnsweredCall {
  std::unique_ptr<RequestVisit> visit;
  RunningCall running;
  ResponseWriter writer;
  std::size_t choices = 1;
  bool include_usage = false;  // of a stream
};

// Destroyed before their end they have been hung up on: that cancels, and is recorded so.
HttpResponse WholeAnswer(AnsweredCall call);
HttpResponse StreamedAnswer(AnsweredCall call);

}  // namespace submix::server
