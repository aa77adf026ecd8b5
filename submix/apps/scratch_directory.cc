#include "submix/apps/scratch_directory.h"

#include <cstdlib>
#include <filesystem>

#include "submix/base/file_system.h"

namespace submix::apps {

base::StatusOr<std::shared_ptr<const std::string>> MakeScratchDirectory(const std::string& name,
                                                                        const std::string& beside) {
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

}  // namespace submix::apps
