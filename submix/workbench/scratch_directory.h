// A directory to work in that goes with its last user, whatever comes.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "submix/base/file_system.h"
#include "submix/base/status.h"

namespace submix::workbench {

// The path of a new directory "submix-NAME-…" in `beside` (empty: where the system keeps such),
// which goes with all that is in it when the path does. Errors: kInternal if it cannot be made.
inline base::StatusOr<std::shared_ptr<const std::string>> MakeScratchDirectory(
    const std::string& name, const std::string& beside) {
  std::string path =
      base::JoinPath(beside.empty() ? std::filesystem::temp_directory_path().string() : beside,
                     "submix-" + name + "-XXXXXX");
  if (::mkdtemp(path.data()) == nullptr) {
    return base::InternalError(path + ": a directory to work in cannot be made");
  }
  return std::shared_ptr<const std::string>(new std::string(path), [](const std::string* made) {
    (void)base::RemoveAll(*made);
    delete made;
  });
}

}  // namespace submix::workbench
