// User-keyed text: one JSON object a line, {"user": "...", "text": "..."}; .xz files are unpacked
// on the way. Streaming: one record is in memory at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "submix/base/status.h"

namespace submix::corpus {

struct UserRecord {
  std::string user;  // the user key; never empty
  std::string text;
  std::int64_t line = 0;  // 1-based
};

// Calls `sink` for every record in order; blank lines are skipped, other fields ignored. Errors,
// naming file and line but never quoting text: kNotFound; kInvalidArgument for invalid JSON, a
// missing, empty or non-string "user", a missing or non-string "text", or a file without any
// record; kDataLoss for a damaged .xz. The sink's first error ends the reading and is returned.
base::Status ReadUserRecords(const std::string& path,
                             const std::function<base::Status(const UserRecord&)>& sink);

// The line that ends a document in raw text.
inline constexpr std::string_view kEndOfTextLine = "<|endoftext|>";

// Calls `sink` for every line of a plain or .xz text file, without its "\n" or "\r\n" and without
// the byte order mark that a file may start with. Errors: kNotFound, kInternal; kDataLoss for a
// damaged .xz; the sink's first error.
base::Status ReadLines(
    const std::string& path,
    const std::function<base::Status(std::int64_t line, std::string_view text)>& sink);

}  // namespace submix::corpus
