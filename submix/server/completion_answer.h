// The answer to a completion request whose tokens are still to come: whole, or as a stream of
// events.
#pragma once

#include <memory>
#include <vector>

#include "submix/engine/completion.h"
#include "submix/server/listener.h"
#include "submix/server/openai_response.h"
#include "submix/server/request_visit.h"

namespace submix::server {

struct AnsweredCall {
  std::unique_ptr<RequestVisit> visit;
  std::vector<std::unique_ptr<engine::Completion>> completions;  // one a choice, by its index
  ResponseWriter writer;
};

// Destroyed before their end they have been hung up on: that cancels, and is recorded so.
HttpResponse WholeAnswer(AnsweredCall call);
HttpResponse StreamedAnswer(AnsweredCall call);

}  // namespace submix::server
