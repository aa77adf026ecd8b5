// A directory that a benchmark works in, removed at its end, whatever comes.
#pragma once

#include <string>

#include <unistd.h>

#include "submix/base/file_system.h"

namespace submix {

// PARENT/NAME.PID. It is not made: whoever writes first makes it.
class WorkDirectory {
 public:
  explicit WorkDirectory(const std::string& name, const std::string& parent = "/tmp")
      : path_(base::JoinPath(parent, name + "." + std::to_string(::getpid()))) {}
  ~WorkDirectory() { (void)base::RemoveAll(path_); }
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return base::JoinPath(path_, name); }

 private:
  const std::string path_;
};

}  // namespace submix
