#include "submix/server/http_framing.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace submix::server {
namespace {

constexpr HeadRefusal kBadRequest = 400;
constexpr HeadRefusal kUriTooLong = 414;
constexpr HeadRefusal kExpectationFailed = 417;
constexpr HeadRefusal kFieldsTooLarge = 431;
constexpr HeadRefusal kNotImplemented = 501;
constexpr HeadRefusal kVersionNotSupported = 505;
// Of all extensions and trailers of a body; of one line of them.
constexpr std::size_t kMostDroppedBytes = 16 << 10;
constexpr std::size_t kMostChunkLineBytes = 4 << 10;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// RFC 9110 §5.6.2
bool IsTokenByte(char c) {
  return IsDigit(c) || IsLetter(c) ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool IsToken(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, IsTokenByte);
}

// Of a field's value: what can be seen, blanks, and bytes above ASCII (RFC 9110 §5.5).
bool IsValueByte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
}

std::string_view WithoutBlanks(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<int> HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  const char lower = Lower(c);
  if (lower >= 'a' && lower <= 'f') return lower - 'a' + 10;
  return std::nullopt;
}

// RFC 3986: pchar, without '%'.
bool IsPathByte(char c) {
  return IsDigit(c) || IsLetter(c) ||
         std::string_view("-._~!$&'()*+,;=:@/").find(c) != std::string_view::npos;
}

// Whether a path or query is well-formed, and hides no control byte.
bool IsPartOfTarget(std::string_view text, std::string_view also_allowed) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (IsPathByte(text[i]) || also_allowed.find(text[i]) != std::string_view::npos) continue;
    if (text[i] != '%' || i + 2 >= text.size()) return false;
    const auto high = HexValue(text[i + 1]);
    const auto low = HexValue(text[i + 2]);
    if (!high || !low) return false;
    const char byte = static_cast<char>(*high * 16 + *low);
    if (!IsValueByte(byte) || byte == '\t') return false;
    i += 2;
  }
  return true;
}

// RFC 9110 §7.2: a name or address, and perhaps a port.
bool IsHost(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const std::size_t bracket = host.rfind(']');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || bracket < colon)) {
    const std::string_view port = host.substr(colon + 1);
    if (port.size() > 5 || !std::ranges::all_of(port, IsDigit)) return false;
    host = host.substr(0, colon);
  }
  if (host.starts_with('[')) {
    if (!host.ends_with(']') || host.size() < 4) return false;
    host = host.substr(1, host.size() - 2);
    return std::ranges::all_of(host, [](char c) { return HexValue(c) || c == ':' || c == '.'; });
  }
  return std::ranges::all_of(host, [](char c) { return IsPathByte(c) || c == '%'; }) &&
         host.find_first_of(":@/") == std::string_view::npos;
}

// Calls `visit` with each element of a list "a, b".
template <typename Visit>
void ForEachElement(std::string_view list, const Visit& visit) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view element = WithoutBlanks(list.substr(0, comma));
    if (!element.empty()) visit(element);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

// What the target says of a host: of "http://host/path" alone (RFC 9112 §3.2.2).
struct Target {
  std::string path;
  std::optional<std::string_view> host;
};

std::optional<Target> ReadTarget(std::string_view method, std::string_view text) {
  Target target;
  if (text == "*") {
    if (method != "OPTIONS") return std::nullopt;
    target.path = text;
    return target;
  }
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!EqualIgnoringCase(text.substr(0, scheme.size()), scheme)) continue;
    text.remove_prefix(scheme.size());
    const std::size_t end = std::min(text.find_first_of("/?"), text.size());
    target.host = text.substr(0, end);
    text.remove_prefix(end);
    if (target.host->empty() || !IsHost(*target.host)) return std::nullopt;
    if (text.empty()) text = "/";
    break;
  }
  const std::size_t question = std::min(text.find('?'), text.size());
  const std::string_view path = text.substr(0, question);
  if (!path.starts_with('/') || !IsPartOfTarget(path, "") ||
      !IsPartOfTarget(text.substr(question), "?")) {
    return std::nullopt;
  }
  target.path = path;
  return target;
}

// Nothing: it is well.
std::optional<HeadRefusal> ReadVersion(std::string_view version, RequestHead& head) {
  if (version.size() != 8 || !version.starts_with("HTTP/") || !IsDigit(version[5]) ||
      version[6] != '.' || !IsDigit(version[7])) {
    return kBadRequest;
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return kVersionNotSupported;
  head.minor_version = version[7] - '0';
  return std::nullopt;
}

std::optional<HeadRefusal> ReadRequestLine(std::string_view line, RequestHead& head,
                                           std::optional<std::string_view>& host) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return kBadRequest;
  head.method = line.substr(0, first);
  // A tunnel: whoever passes it on reads nothing behind it as a request.
  if (!IsToken(head.method) || head.method == "CONNECT") return kBadRequest;
  if (const auto refusal = ReadVersion(line.substr(last + 1), head)) return refusal;
  auto target = ReadTarget(head.method, line.substr(first + 1, last - first - 1));
  if (!target) return kBadRequest;
  head.path = std::move(target->path);
  host = target->host;
  return std::nullopt;
}

// One "name: value", without its line end; nothing if it is not exactly that.
std::optional<FieldViews::value_type> ReadFieldLine(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !IsToken(line.substr(0, colon))) return std::nullopt;
  const std::string_view value = WithoutBlanks(line.substr(colon + 1));
  if (!std::ranges::all_of(value, IsValueByte)) return std::nullopt;
  std::string name(line.substr(0, colon));
  std::ranges::transform(name, name.begin(), Lower);
  return FieldViews::value_type(std::move(name), value);
}

// The values of a field's lines.
std::vector<std::string_view> ValuesOf(const FieldViews& fields, std::string_view name) {
  std::vector<std::string_view> values;
  for (const auto& [each, value] : fields) {
    if (each == name) values.push_back(value);
  }
  return values;
}

std::optional<HeadRefusal> CheckHost(const RequestHead& head,
                                     const std::optional<std::string_view>& of_target) {
  const auto hosts = ValuesOf(head.fields, "host");
  if (hosts.size() > 1 || (hosts.empty() && head.minor_version == 1)) return kBadRequest;
  if (!hosts.empty() && !IsHost(hosts.front())) return kBadRequest;
  if (of_target && !hosts.empty() && !EqualIgnoringCase(*of_target, hosts.front())) {
    return kBadRequest;
  }
  return std::nullopt;
}

// RFC 9112 §6: one length, or chunks, or no body.
std::optional<HeadRefusal> ReadFraming(RequestHead& head) {
  const auto lengths = ValuesOf(head.fields, "content-length");
  const auto codings = ValuesOf(head.fields, "transfer-encoding");
  if (lengths.size() > 1 || codings.size() > 1 || (!lengths.empty() && !codings.empty())) {
    return kBadRequest;
  }
  if (!lengths.empty()) {
    const std::string_view digits = lengths.front();
    if (digits.empty() || !std::ranges::all_of(digits, IsDigit)) return kBadRequest;
    std::uint64_t length = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), length);
    head.length = read.ec == std::errc() ? length : std::numeric_limits<std::uint64_t>::max();
  }
  if (!codings.empty()) {
    if (head.minor_version == 0 || codings.front().empty()) return kBadRequest;
    bool has_others = false;
    ForEachElement(codings.front(), [&](std::string_view coding) {
      has_others |= !EqualIgnoringCase(coding, "chunked");
    });
    if (has_others) return kNotImplemented;
    if (!EqualIgnoringCase(codings.front(), "chunked")) return kBadRequest;
    head.is_chunked = true;
  }
  return std::nullopt;
}

std::optional<HeadRefusal> ReadExpectation(RequestHead& head) {
  for (const std::string_view value : ValuesOf(head.fields, "expect")) {
    if (!EqualIgnoringCase(value, "100-continue")) return kExpectationFailed;
    head.expects_continue = head.minor_version == 1;
  }
  return std::nullopt;
}

void ReadConnection(RequestHead& head) {
  bool closes = false;
  bool keeps = false;
  for (const std::string_view value : ValuesOf(head.fields, "connection")) {
    ForEachElement(value, [&](std::string_view option) {
      closes |= EqualIgnoringCase(option, "close");
      keeps |= EqualIgnoringCase(option, "keep-alive");
    });
  }
  head.keeps_alive = !closes && (head.minor_version == 1 || keeps);
}

}  // namespace

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return Lower(x) == Lower(y); });
}

std::variant<std::monostate, std::size_t, HeadRefusal> HeadScanner::Scan(std::string_view bytes) {
  for (; scanned_ < bytes.size(); ++scanned_) {
    const char c = bytes[scanned_];
    const bool follows_return = scanned_ > 0 && bytes[scanned_ - 1] == '\r';
    if (follows_return != (c == '\n')) return kBadRequest;  // a line ends in both, or not at all
    if (c != '\r' && c != '\n' && !IsValueByte(c)) return kBadRequest;
    if (!has_request_line_ && scanned_ - line_start_ > kMostRequestLineBytes) return kUriTooLong;
    if (scanned_ >= kMostHeadBytes) return kFieldsTooLarge;
    if (c != '\n') continue;
    const std::size_t size = scanned_ - 1 - line_start_;
    line_start_ = scanned_ + 1;
    if (size > 0) {
      has_request_line_ = true;
    } else if (has_request_line_) {
      return ++scanned_;
    } else if (line_start_ > 2) {
      return kBadRequest;  // one empty line before a request is borne (RFC 9112 §2.2)
    }
  }
  return std::monostate();
}

std::variant<RequestHead, HeadRefusal> ReadHead(std::string_view block) {
  RequestHead head;
  std::optional<std::string_view> host;
  if (block.starts_with("\r\n")) block.remove_prefix(2);
  if (!block.ends_with("\r\n\r\n")) return kBadRequest;
  block.remove_suffix(2);
  bool is_request_line = true;
  while (!block.empty()) {
    const std::size_t end = block.find("\r\n");
    if (end == std::string_view::npos) return kBadRequest;
    const std::string_view line = block.substr(0, end);
    block.remove_prefix(end + 2);
    if (std::exchange(is_request_line, false)) {
      if (const auto refusal = ReadRequestLine(line, head, host)) return *refusal;
      continue;
    }
    auto field = ReadFieldLine(line);
    if (!field) return kBadRequest;
    if (head.fields.size() == kMostFields) return kFieldsTooLarge;
    head.fields.push_back(*std::move(field));
  }
  if (is_request_line) return kBadRequest;
  if (const auto refusal = CheckHost(head, host)) return *refusal;
  if (const auto refusal = ReadFraming(head)) return *refusal;
  if (const auto refusal = ReadExpectation(head)) return *refusal;
  ReadConnection(head);
  return head;
}

std::optional<std::string> ChunkedBody::TakeLine(std::string_view& bytes) {
  const std::size_t end = bytes.find('\n');
  const std::size_t taken = end == std::string_view::npos ? bytes.size() : end + 1;
  line_.append(bytes.substr(0, std::min(taken, kMostChunkLineBytes + 1)));
  bytes.remove_prefix(taken);
  if (end == std::string_view::npos) return std::nullopt;
  return std::exchange(line_, "");
}

ChunkedBody::Progress ChunkedBody::TakeSize(std::string_view line) {
  std::uint64_t size = 0;
  std::size_t digits = 0;
  for (; digits < line.size() && HexValue(line[digits]); ++digits) {
    if (digits == 16) return Progress::kMalformed;
    size = size * 16 + static_cast<std::uint64_t>(*HexValue(line[digits]));
  }
  const std::string_view extension = line.substr(digits);
  if (digits == 0 || !std::ranges::all_of(extension, IsValueByte) ||
      (!extension.empty() && !WithoutBlanks(extension).starts_with(';'))) {
    return Progress::kMalformed;
  }
  dropped_bytes_ += extension.size();
  if (dropped_bytes_ > kMostDroppedBytes) return Progress::kMalformed;
  if (size > most_bytes_ - total_) return Progress::kTooLarge;
  total_ += size;
  left_ = size;
  part_ = size > 0 ? Part::kData : Part::kTrailer;
  return Progress::kMore;
}

ChunkedBody::Progress ChunkedBody::TakeTrailer(std::string_view line) {
  if (line.empty()) return Progress::kDone;
  dropped_bytes_ += line.size();
  if (!ReadFieldLine(line) || ++trailers_ > kMostFields || dropped_bytes_ > kMostDroppedBytes) {
    return Progress::kMalformed;
  }
  return Progress::kMore;
}

ChunkedBody::Progress ChunkedBody::Take(std::string_view& bytes, std::string& body) {
  Progress progress = Progress::kMore;
  while (progress == Progress::kMore && !bytes.empty()) {
    if (part_ == Part::kData) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
      body.append(bytes.substr(0, size));
      bytes.remove_prefix(size);
      left_ -= size;
      if (left_ == 0) part_ = Part::kDataEnd;
      continue;
    }
    const auto line = TakeLine(bytes);
    if (!line) {
      const bool may_go_on = part_ == Part::kDataEnd ? line_.empty() || line_ == "\r"
                                                     : line_.size() <= kMostChunkLineBytes;
      return may_go_on ? Progress::kMore : Progress::kMalformed;
    }
    if (line->size() > kMostChunkLineBytes || !line->ends_with("\r\n")) return Progress::kMalformed;
    const std::string_view text = std::string_view(*line).substr(0, line->size() - 2);
    if (part_ == Part::kDataEnd) {
      if (!text.empty()) return Progress::kMalformed;
      part_ = Part::kSize;
    } else {
      progress = part_ == Part::kSize ? TakeSize(text) : TakeTrailer(text);
    }
  }
  return progress;
}

}  // namespace submix::server
