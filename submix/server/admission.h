// Which requests are let in before a byte of their body is read: by the host that they mean, by
// their key, by what they say their body is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "submix/engine/api_keys.h"
#include "submix/server/listener.h"
#include "submix/server/openai_request.h"

namespace submix::server {

// The key of a field Authorization: "Bearer KEY", the scheme in any case and with one space or more
// after it (RFC 9110, 11.4). None: another scheme, or none.
std::optional<std::string_view> BearerKey(std::string_view authorization);

// The key that the request is counted for; with `keys` null an empty one. 401 for a wrong one.
std::variant<engine::ApiKey, ApiError> Authenticate(const engine::ApiKeys* keys,
                                                    const HttpRequest& request);

// Where no keys are asked for, a page of any origin could have its own name point here, and read
// the answers (DNS rebinding): 421 for a Host that is not this machine's own nor among `allowed`,
// names or addresses without port.
std::optional<ApiError> CheckHost(const HttpRequest& request,
                                  const std::vector<std::string>& allowed);

// 415 for a body that is not plain JSON. `must_be_named`: a Content-Type must say so, which a page
// of another origin cannot send without being asked first (CORS).
std::optional<ApiError> CheckMediaType(const HttpRequest& request, bool must_be_named);

}  // namespace submix::server
