#include "submix/server/response_text.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include <boost/beast/http/status.hpp>

#include "submix/base/number_text.h"
#include "submix/base/random.h"

namespace submix::server {
namespace {

namespace http = boost::beast::http;

constexpr std::string_view kIdHeader = "x-request-id";

constexpr const char* kDate = "%a, %d %b %Y %H:%M:%S GMT";  // RFC 9110 §5.6.7

}  // namespace

std::string HeadText(const HttpResponse& response, BodyFraming framing,
                     std::chrono::milliseconds idle) {
  const auto reason =
      http::obsolete_reason(http::int_to_status(static_cast<unsigned>(response.status)));
  std::string text = "HTTP/1.1 " + std::to_string(response.status) + " ";
  text.append(reason.data(), reason.size());
  const auto add = [&text](std::string_view name, std::string_view value) {
    text.append("\r\n").append(name).append(": ").append(value);
  };
  add("Date", base::UtcTime(std::time(nullptr), kDate));
  add("Content-Type", response.content_type);
  if (framing == BodyFraming::kLength) add("Content-Length", std::to_string(response.body.size()));
  if (framing == BodyFraming::kChunks) add("Transfer-Encoding", "chunked");
  for (const auto& [name, value] : response.headers) add(name, value);
  const bool has_id = std::ranges::any_of(
      response.headers, [](const auto& header) { return header.first == kIdHeader; });
  if (!has_id) add(kIdHeader, base::RandomHex(kIdBytes));
  if (idle.count() <= 0) {
    add("Connection", "close");
  } else {
    // Clients of HTTP/1.0 must be told; the others learn for how long.
    add("Connection", "keep-alive");
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(idle).count();
    if (seconds > 0) add("Keep-Alive", "timeout=" + std::to_string(seconds));
  }
  return text + "\r\n\r\n";
}

std::string ChunkText(std::string_view bytes) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
  return std::string(size).append(bytes).append("\r\n");
}

}  // namespace submix::server
