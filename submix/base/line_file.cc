#include "submix/base/line_file.h"

#include <filesystem>
#include <utility>

namespace submix::base {
namespace {

// Calls `sink` for every whole line; returns how many bytes they have.
StatusOr<std::size_t> ReadWholeLines(std::string_view content, const LineFile::Sink& sink) {
  std::size_t begin = 0;
  std::int64_t number = 0;
  for (std::size_t end; (end = content.find('\n', begin)) != std::string_view::npos;) {
    SUBMIX_RETURN_IF_ERROR(sink(++number, content.substr(begin, end - begin)));
    begin = end + 1;
  }
  return begin;
}

}  // namespace

LineFile::LineFile(std::string path, std::unique_ptr<FileLock> lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

StatusOr<LineFile> LineFile::Open(const std::string& path, const Sink& sink) {
  SUBMIX_ASSIGN_OR_RETURN(auto lock, LockFile(path));
  SUBMIX_ASSIGN_OR_RETURN(const MappedFile file, MapFile(path));
  const std::string_view content(reinterpret_cast<const char*>(file.bytes.data()),
                                 file.bytes.size());
  SUBMIX_ASSIGN_OR_RETURN(const std::size_t whole, ReadWholeLines(content, sink));
  std::error_code error;
  if (whole < content.size()) std::filesystem::resize_file(path, whole, error);
  if (error) return InternalError(path + ": write failed: " + error.message());
  SUBMIX_RETURN_IF_ERROR(Rename(path, path));  // changes nothing, but makes a new name durable
  return LineFile(path, std::move(lock));
}

Status LineFile::Append(std::string_view line) {
  return AppendToFile(path_, std::string(line) + "\n");
}

}  // namespace submix::base
