#include "submix/corpus/text_lines.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "submix/corpus/member_decoder.h"
#include "submix/corpus/unpacked_file.h"

namespace submix::corpus {
namespace {

using base::Status;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

struct OtherKind {
  std::string_view ending;
  std::string_view magic;
  std::size_t at = 0;  // where the magic bytes stand
};
// What people have text in and this does not read.
constexpr std::array<OtherKind, 11> kOtherKinds = {{{".zip", "PK\x03\x04"},
                                                    {".7z", "7z\xbc\xaf\x27\x1c"},
                                                    {".rar", "Rar!\x1a\x07"},
                                                    {".lz4", "\x04\x22\x4d\x18"},
                                                    {".lz", "LZIP"},
                                                    {".lzma", {"\x5d\0\0", 3}},
                                                    {".Z", "\x1f\x9d"},
                                                    {".tar", "ustar", 257},
                                                    {".parquet", "PAR1"},
                                                    {".arrow", "ARROW1"},
                                                    {".sqlite", "SQLite format 3"}}};

// A Unicode encoding of two or four bytes a character, as iconv names it: by its byte order mark,
// or by the zero bytes beside ASCII, with which JSON and column names begin.
std::optional<std::string> WideEncoding(std::string_view start) {
  using namespace std::string_view_literals;
  if (start.starts_with("\xff\xfe\0\0"sv) || start.starts_with("\0\0\xfe\xff"sv)) return "UTF-32";
  if (start.starts_with("\xff\xfe") || start.starts_with("\xfe\xff")) return "UTF-16";
  constexpr std::size_t kLooked = 64;
  start = start.substr(0, kLooked);
  std::size_t even = 0, odd = 0;  // zero bytes by place
  for (std::size_t i = 0; i < start.size(); ++i)
    (i % 2 == 0 ? even : odd) += start[i] == '\0' ? 1 : 0;
  const std::string order = start.starts_with('\0') ? "BE" : "LE";
  const bool is_two =
      std::min(even, odd) == 0 && even + odd >= 2 && 8 * (even + odd) >= start.size();
  if (is_two) return "UTF-16" + order;
  const bool is_four = 8 * (even + odd) >= 5 * start.size() && even + odd < start.size();
  if (is_four) return "UTF-32" + order;
  return std::nullopt;
}

// Errors: kInvalidArgument for what begins as no text that is read does.
Status CheckKind(const std::string& path, std::string_view start) {
  const auto refused = [&](const std::string& what, const std::string& mend) {
    return base::InvalidArgumentError(path + ": is " + what + mend);
  };
  for (const OtherKind& kind : kOtherKinds) {
    if (start.size() <= kind.at || !start.substr(kind.at).starts_with(kind.magic)) continue;
    return refused("a " + std::string(kind.ending) + " file",
                   "; read are plain text, .gz, .xz, .zst and .bz2");
  }
  for (const PackedKind& kind : PackedKinds()) {
    if (!kind.begins(start)) continue;
    return refused("packed twice",
                   ": a " + std::string(kind.ending) + " file is in it; unpack it once");
  }
  if (const auto encoding = WideEncoding(start)) {
    return refused(*encoding,
                   ": convert the file to UTF-8 (`iconv -f " + *encoding + " -t UTF-8`)");
  }
  return base::OkStatus();
}

// Puts the lines together and hands them on.
class LineCollector {
 public:
  LineCollector(const std::string& path, const LineSink& sink) : path_(path), sink_(sink) {}

  Status Add(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t size = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
      if (line_.size() + size > kMostLineBytes) {
        return base::InvalidArgumentError(
            path_ + ":" + std::to_string(number_ + 1) + ": the line is longer than " +
            std::to_string(kMostLineBytes >> 20) + " MiB: expected a record a line");
      }
      line_.append(bytes.substr(0, size));
      bytes.remove_prefix(size);
      if (line_.ends_with('\n')) SUBMIX_RETURN_IF_ERROR(EndLine());
    }
    return base::OkStatus();
  }

  Status Finish() { return line_.empty() ? base::OkStatus() : EndLine(); }

 private:
  Status EndLine() {
    std::string_view text = line_;
    if (++number_ == 1 && text.starts_with(kByteOrderMark)) {
      text.remove_prefix(kByteOrderMark.size());
    }
    if (!text.empty()) SUBMIX_RETURN_IF_ERROR(sink_(number_, text));
    line_.clear();
    return base::OkStatus();
  }

  const std::string& path_;
  const LineSink& sink_;
  std::string line_;
  std::int64_t number_ = 0;
};

}  // namespace

Status ReadLinesWithEnds(const std::string& path, const LineSink& sink) {
  UnpackedFile file(path);
  SUBMIX_RETURN_IF_ERROR(file.Open());
  LineCollector lines(path, sink);
  for (bool is_first = true;; is_first = false) {
    SUBMIX_ASSIGN_OR_RETURN(const std::string_view bytes, file.Next());
    if (bytes.empty()) return lines.Finish();
    if (is_first) SUBMIX_RETURN_IF_ERROR(CheckKind(path, bytes));
    SUBMIX_RETURN_IF_ERROR(lines.Add(bytes));
  }
}

Status ReadLines(const std::string& path, const LineSink& sink) {
  return ReadLinesWithEnds(path, [&](std::int64_t line, std::string_view text) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    if (text.ends_with('\r')) text.remove_suffix(1);
    return sink(line, text);
  });
}

Status ReadDocuments(const std::string& path, const DocumentSink& sink) {
  std::string document;
  std::int64_t number = 0;
  const auto finish_document = [&]() -> Status {
    const std::string text = std::exchange(document, {});
    if (text.empty()) return base::OkStatus();
    ++number;
    const Status status = sink(text);
    if (status.ok()) return status;
    return {status.code(), path + ": document " + std::to_string(number) + ": " + status.message()};
  };
  SUBMIX_RETURN_IF_ERROR(ReadLines(path, [&](std::int64_t, std::string_view line) -> Status {
    if (line == kEndOfTextLine) return finish_document();
    document.append(line).push_back('\n');
    return base::OkStatus();
  }));
  return finish_document();
}

}  // namespace submix::corpus
