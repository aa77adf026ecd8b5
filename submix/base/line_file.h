// A file that grows by whole lines, each durable before the next: what long work has finished, and
// goes on behind after a crash.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "submix/base/file_system.h"
#include "submix/base/status.h"

namespace submix::base {

// One thread at a time, and one process a file.
class LineFile {
 public:
  // `number` counts from 1; `line` is without its "\n".
  using Sink = std::function<Status(std::int64_t number, std::string_view line)>;

  // Makes the file, or calls `sink` for every line that is there. Bytes behind the last "\n" were
  // on their way when a crash came: they are dropped, once the sink has taken all lines. Errors:
  // kUnavailable if another process has it open; kNotFound, kDataLoss, kInternal for what is no
  // file that can be written; kResourceExhausted; the sink's first error, which leaves the file as
  // it was.
  static StatusOr<LineFile> Open(const std::string& path, const Sink& sink);

  // Once it returns, the line survives power loss. Requires: no "\n" in it. Errors:
  // kResourceExhausted when the disk is full, kNotFound, kInternal: the file then has at most a
  // beginning of the line, which Open drops, and must not be appended to.
  Status Append(std::string_view line);

 private:
  LineFile(std::string path, std::unique_ptr<FileLock> lock);

  std::string path_;
  std::unique_ptr<FileLock> lock_;
};

}  // namespace submix::base
