#include "submix/server/error_response.h"

#include <string>
#include <string_view>
#include <utility>

#include "submix/server/openai_response.h"

namespace submix::server {
namespace {

// The field that Scheduler::Submit finds wrong, where the parser of bodies does not know its range.
std::string FieldOf(std::string_view message) {
  if (message.starts_with("top_k_plus:")) return "top_k_plus";
  return message.starts_with("prompts x n ") ? "n" : "prompt";
}

}  // namespace

ApiError HttpError(int status) {
  static constexpr std::pair<int, std::string_view> kMessages[] = {
      {404,
       "There is no such URL here. There are POST /v1/completions, POST /v1/chat/completions and "
       "GET "
       "/v1/models."},
      {405, "This URL is not for this method."},
      {408, "The request took too long to arrive."},
      {411, "The request has no body: say its length."},
      {413, "The request is larger than this server accepts."},
      {500, "The server failed."},
      {503, "The server is busy or about to stop: try again."}};
  ApiError error{.status = status, .message = "The request is not well-formed HTTP."};
  for (const auto& [each, message] : kMessages) {
    if (each == status) error.message = message;
  }
  if (status == 404) error.code = "unknown_url";
  if (status >= 500) error.type = "server_error";
  return error;
}

ApiError RefusalError(const base::Status& status) {
  ApiError error{.message = status.message()};
  switch (status.code()) {
    case base::StatusCode::kInvalidArgument:
      error.param = FieldOf(status.message());
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
