#include "submix/server/error_response.h"

#include "submix/server/openai_response.h"

namespace submix::server {

ApiError HttpError(int status) {
  ApiError error{.status = status};
  switch (status) {
    case 404:
      error.message = "There is no such URL here.";
      error.code = "unknown_url";
      break;
    case 405:
      error.message = "This URL is not for this method.";
      break;
    case 408:
      error.message = "The request took too long to arrive.";
      break;
    case 411:
      error.message = "The request has no body: say its length.";
      break;
    case 413:
      error.message = "The request is larger than this server accepts.";
      break;
    case 503:
      error.message = "The server is busy or about to stop: try again.";
      break;
    case 500:
      error.message = "The server failed.";
      break;
    default:
      error.message = "The request is not well-formed HTTP.";
  }
  if (status >= 500) error.type = "server_error";
  return error;
}

ApiError RefusalError(const base::Status& status) {
  ApiError error{.message = status.message()};
  switch (status.code()) {
    case base::StatusCode::kInvalidArgument:
      error.param = "prompt";  // the one field whose range the parser of bodies does not know
      break;
    case base::StatusCode::kFailedPrecondition:
      error.status = 429;
      error.type = error.code = "insufficient_quota";
      break;
    case base::StatusCode::kResourceExhausted:
      error.status = 429;
      error.type = "requests";
      error.code = "rate_limit_exceeded";
      break;
    case base::StatusCode::kInternal:
      error.status = 500;
      error.type = "server_error";
      error.code = "no_prediction";
      break;
    default:
      error.status = 503;
      error.type = "server_error";
      error.code = "unavailable";
  }
  return error;
}

// A client that tries again pays again, and a quota does not come back.
HttpResponse ErrorResponse(const ApiError& error) {
  HttpResponse response{.status = error.status, .body = ErrorBody(error)};
  if (error.code == "insufficient_quota" || error.code == "no_prediction" || error.status == 504) {
    response.headers.emplace_back("x-should-retry", "false");
  } else if (error.status == 429 || error.status == 503) {
    response.headers.emplace_back("Retry-After", "1");
  }
  if (error.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace submix::server
