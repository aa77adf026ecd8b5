// The lines of a text file that may be packed (unpacked_file.h). Streaming: one line is in memory
// at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "submix/base/status.h"

namespace submix::corpus {

// A longer line is refused: a small packed file may unpack to any number of bytes.
inline constexpr std::size_t kMostLineBytes = std::size_t{64} << 20;

// The line that ends a document in raw text.
inline constexpr std::string_view kEndOfTextLine = "<|endoftext|>";

// `line` counts from 1.
using LineSink = std::function<base::Status(std::int64_t line, std::string_view text)>;

// Calls `sink` for every line of a file, its "\n" or "\r\n" included, without the byte order mark
// that a file may start with. Errors: those of UnpackedFile; kInvalidArgument for a line of more
// than kMostLineBytes, a file of another packed kind (.zip, .tar, .parquet …) or UTF-16, which it
// names; the sink's first error.
base::Status ReadLinesWithEnds(const std::string& path, const LineSink& sink);

// The same without "\n" or "\r\n".
base::Status ReadLines(const std::string& path, const LineSink& sink);

using DocumentSink = std::function<base::Status(std::string_view text)>;

// Calls `sink` for every document of a file of raw text that is not empty: its lines, each with
// "\n". One document is in memory at a time. Errors: those of ReadLines; the sink's first error,
// with the file and the document's number.
base::Status ReadDocuments(const std::string& path, const DocumentSink& sink);

}  // namespace submix::corpus
