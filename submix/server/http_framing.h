// Where an HTTP request begins and ends, by RFC 9112, read strictly and once: whatever could be
// read in two ways is refused, since a proxy in front may read it the other way. Pure functions
// over bytes that nobody has looked at yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace submix::server {

inline constexpr std::size_t kMostHeadBytes = 64 << 10;
inline constexpr std::size_t kMostRequestLineBytes = 8 << 10;
inline constexpr std::size_t kMostFields = 100;

// Names in lower case, values without the blanks around them; views into what was read.
using FieldViews = std::vector<std::pair<std::string, std::string_view>>;

struct RequestHead {
  std::string_view method;
  std::string path;  // as it was sent, without the query; "*" only of OPTIONS
  FieldViews fields;
  int minor_version = 1;                // of HTTP/1
  std::optional<std::uint64_t> length;  // Content-Length; too large a number is the largest one
  bool is_chunked = false;              // never beside a length
  bool keeps_alive = true;              // the client wants, and may have, another answer after this
  bool expects_continue = false;

  bool has_body() const { return is_chunked || length.value_or(0) > 0; }
};

// The status of the answer to what is refused: 400, 414, 417, 431, 501 or 505.
using HeadRefusal = int;

// Finds the end of a head that arrives piece by piece.
class HeadScanner {
 public:
  // `bytes`: all that came of the request. The size of its head, with the empty line; nothing: more
  // must come, or it is refused already.
  std::variant<std::monostate, std::size_t, HeadRefusal> Scan(std::string_view bytes);
  void Reset() { *this = HeadScanner(); }

 private:
  std::size_t scanned_ = 0;
  std::size_t line_start_ = 0;
  bool has_request_line_ = false;
};

// `block`: a whole head, as HeadScanner found it. Views point into it.
std::variant<RequestHead, HeadRefusal> ReadHead(std::string_view block);

// Takes the chunked coding off a body that arrives piece by piece. Extensions and trailers are
// checked, bounded and dropped.
class ChunkedBody {
 public:
  enum class Progress { kMore, kDone, kMalformed, kTooLarge };

  explicit ChunkedBody(std::size_t most_bytes) : most_bytes_(most_bytes) {}
  // Takes from the front of `bytes` and appends to `body`, at most `most_bytes` in all. After kDone
  // what is left in `bytes` is the next request's.
  Progress Take(std::string_view& bytes, std::string& body);

 private:
  enum class Part { kSize, kData, kDataEnd, kTrailer };

  // A line of `bytes`, however many pieces it comes in; nothing: not whole yet, or too long.
  std::optional<std::string> TakeLine(std::string_view& bytes);
  Progress TakeSize(std::string_view line);
  Progress TakeTrailer(std::string_view line);

  const std::size_t most_bytes_;
  Part part_ = Part::kSize;
  std::string line_;  // what came of it
  std::uint64_t left_ = 0;
  std::uint64_t total_ = 0;
  std::size_t dropped_bytes_ = 0;  // of extensions and trailers
  std::size_t trailers_ = 0;
};

// Without regard to the case of ASCII letters.
bool EqualIgnoringCase(std::string_view a, std::string_view b);

}  // namespace submix::server
