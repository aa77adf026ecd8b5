#include "submix/server/admission.h"

#include <algorithm>

#include "submix/server/error_response.h"
#include "submix/server/http_framing.h"

namespace submix::server {
namespace {

constexpr std::string_view kJson = "application/json";

// Without the port.
std::string_view NameOf(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  if (colon == std::string_view::npos || host.find(']', colon) != std::string_view::npos) {
    return host;
  }
  return host.substr(0, colon);
}

// Without parameters and blanks.
std::string_view TypeOf(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  return type;
}

}  // namespace

std::optional<std::string_view> BearerKey(std::string_view authorization) {
  const std::size_t scheme_end = std::min(authorization.find(' '), authorization.size());
  if (!EqualIgnoringCase(authorization.substr(0, scheme_end), "bearer")) return std::nullopt;
  const std::size_t key = authorization.find_first_not_of(' ', scheme_end);
  if (key == std::string_view::npos) return std::nullopt;
  return authorization.substr(key);
}

std::variant<engine::ApiKey, ApiError> Authenticate(const engine::ApiKeys* keys,
                                                    const HttpRequest& request) {
  if (keys == nullptr) return engine::ApiKey{};
  const std::string authorization = request.header("authorization");
  const auto sent = BearerKey(authorization);
  ApiError error{.status = 401, .code = "invalid_api_key"};
  if (!sent.has_value()) {
    error.message = "You did not provide an API key: send 'Authorization: Bearer KEY'.";
    return error;
  }
  auto key = keys->Authenticate(*sent);
  if (key.ok()) return *std::move(key);
  if (key.status().code() != base::StatusCode::kNotFound) return HttpError(500);
  error.message = "Incorrect API key provided.";
  return error;
}

std::optional<ApiError> CheckHost(const HttpRequest& request,
                                  const std::vector<std::string>& allowed) {
  const std::string host = request.header("host");
  const std::string_view name = NameOf(host);
  const auto is_name = [name](std::string_view other) { return EqualIgnoringCase(name, other); };
  if (is_name("localhost") || is_name("127.0.0.1") || is_name("[::1]") ||
      std::ranges::any_of(allowed, is_name)) {
    return std::nullopt;
  }
  return ApiError{.status = 421,
                  .message =
                      "This server asks for no key, so it answers only to names of its own: "
                      "use localhost, or add the name to server.allowed_hosts."};
}

std::optional<ApiError> CheckMediaType(const HttpRequest& request, bool must_be_named) {
  const std::string encoding = request.header("content-encoding");
  if (!encoding.empty() && !EqualIgnoringCase(encoding, "identity")) {
    return ApiError{.status = 415,
                    .message = "The body must not be compressed: leave Content-Encoding out."};
  }
  const bool is_named = request.has_header("content-type");
  if (is_named ? EqualIgnoringCase(TypeOf(request.header("content-type")), kJson)
               : !must_be_named) {
    return std::nullopt;
  }
  return ApiError{.status = 415,
                  .message = "The body must be JSON: send 'Content-Type: application/json'."};
}

}  // namespace submix::server
