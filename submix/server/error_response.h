// Errors as clients of OpenAI's API expect them.
#pragma once

#include "submix/server/listener.h"
#include "submix/server/openai_request.h"

namespace submix::server {

// What a status means that has no reason of its own.
ApiError HttpError(int status);
// With the headers that say whether to try again.
HttpResponse ErrorResponse(const ApiError& error);

}  // namespace submix::server
