#include <algorithm>

#include "submix/base/check.h"
#include "submix/server/http_framing.h"
#include "tests/fuzz/fuzz_targets.h"

namespace submix::fuzz {
namespace {

using server::ChunkedBody;
using server::HeadRefusal;
using server::HeadScanner;
using server::RequestHead;

constexpr std::size_t kMostBodyBytes = 1'000;

// The end of a head does not depend on how its bytes come.
void CheckPieces(std::string_view input,
                 const std::variant<std::monostate, std::size_t, HeadRefusal>& whole) {
  HeadScanner scanner;
  std::variant<std::monostate, std::size_t, HeadRefusal> found;
  for (std::size_t size = 0; size <= input.size(); size += 7) {
    found = scanner.Scan(input.substr(0, size));
    if (found.index() != 0) break;
  }
  if (found.index() == 0) found = scanner.Scan(input);
  SUBMIX_CHECK(found == whole, "pieces change nothing");
}

void CheckHead(const RequestHead& head, std::string_view block) {
  const auto count = [&](std::string_view name) {
    return std::ranges::count_if(head.fields,
                                 [&](const auto& field) { return field.first == name; });
  };
  SUBMIX_CHECK(!head.method.empty() && !head.path.empty(), "something is asked");
  SUBMIX_CHECK(head.path.front() == '/' || head.path == "*", "of a path");
  SUBMIX_CHECK(count("host") + (head.minor_version == 0) >= 1 && count("host") <= 1, "one host");
  SUBMIX_CHECK(count("content-length") == head.length.has_value(), "one length, or none");
  SUBMIX_CHECK(count("transfer-encoding") == head.is_chunked, "chunks, or none");
  SUBMIX_CHECK(!(head.length && head.is_chunked), "the body ends in one way");
  SUBMIX_CHECK(!head.is_chunked || head.minor_version == 1, "HTTP/1.0 has no chunks");
  SUBMIX_CHECK(head.fields.size() <= server::kMostFields, "a bounded number of fields");
  SUBMIX_CHECK(std::ranges::none_of(block, [](char c) { return c == '\0'; }), "no NUL");
  for (const auto& [name, value] : head.fields) {
    SUBMIX_CHECK(!name.empty() && name.find_first_of(" \t:\r\n") == std::string::npos, "a token");
    SUBMIX_CHECK(value.find_first_of("\r\n") == std::string_view::npos, "one line");
  }
}

// The same body, whether it comes at once or byte by byte.
void CheckBody(std::string_view input) {
  ChunkedBody at_once(kMostBodyBytes);
  std::string body;
  std::string_view rest = input;
  const auto progress = at_once.Take(rest, body);
  SUBMIX_CHECK(body.size() <= kMostBodyBytes, "a body has its limit");

  ChunkedBody by_bytes(kMostBodyBytes);
  std::string same;
  std::size_t taken = 0;
  auto last = ChunkedBody::Progress::kMore;
  for (; taken < input.size() && last == ChunkedBody::Progress::kMore; ++taken) {
    std::string_view byte = input.substr(taken, 1);
    last = by_bytes.Take(byte, same);
  }
  SUBMIX_CHECK(last == progress, "pieces change nothing");
  if (progress == ChunkedBody::Progress::kDone) {
    SUBMIX_CHECK(same == body && taken == input.size() - rest.size(), "nor where it ends");
  }
}

}  // namespace

// A request as it comes from a socket; after its head, a body in chunks.
void FuzzHttpHead(std::string_view input) {
  HeadScanner scanner;
  const auto found = scanner.Scan(input);
  CheckPieces(input, found);
  const auto* size = std::get_if<std::size_t>(&found);
  if (size == nullptr) return CheckBody(input);
  const std::string_view block = input.substr(0, *size);
  const auto read = server::ReadHead(block);
  if (const auto* head = std::get_if<RequestHead>(&read)) CheckHead(*head, block);
  CheckBody(input.substr(*size));
}

}  // namespace submix::fuzz
