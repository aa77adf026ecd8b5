// Errors as clients of OpenAI's API expect them.
#pragma once

#include "submix/base/status.h"
#include "submix/server/listener.h"
#include "submix/server/openai_request.h"

namespace submix::server {

// What a status means that has no reason of its own.
ApiError HttpError(int status);
// What a client is told where Scheduler::Submit refuses, or a completion ends badly.
ApiError RefusalError(const base::Status& status);
// With the headers that say whether to try again.
HttpResponse ErrorResponse(const ApiError& error);

}  // namespace submix::server
