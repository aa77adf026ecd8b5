#include "submix/base/line_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace submix::base {
namespace {

Status WriteError(const std::string& path, int error) {
  std::string message = path + ": write failed: " + std::strerror(error);
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    return ResourceExhaustedError(std::move(message) + "; free some space and run it again");
  }
  return InternalError(std::move(message));
}

// Writes everything and syncs it; 0 or errno.
int WriteDurably(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return errno;
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return ::fdatasync(fd) == 0 ? 0 : errno;
}

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
  if (error) return WriteError(path, error.value());
  SUBMIX_RETURN_IF_ERROR(Rename(path, path));  // changes nothing, but makes a new name durable
  return LineFile(path, std::move(lock));
}

Status LineFile::Append(std::string_view line) {
  const int fd = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return WriteError(path_, errno);
  const int error = WriteDurably(fd, std::string(line) + "\n");
  ::close(fd);
  return error == 0 ? OkStatus() : WriteError(path_, error);
}

}  // namespace submix::base
