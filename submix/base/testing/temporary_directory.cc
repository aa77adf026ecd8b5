#include "submix/base/testing/temporary_directory.h"

#include <cstdlib>
#include <filesystem>

#include "submix/base/check.h"
#include "submix/base/file_system.h"

namespace submix::base {

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "submix_test_XXXXXX").string();
  SUBMIX_CHECK(mkdtemp(pattern.data()) != nullptr, "cannot make a temporary directory");
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryDirectory::Write(const std::string& name, const std::string& content) const {
  const std::filesystem::path path = File(name);
  std::filesystem::create_directories(path.parent_path());
  SUBMIX_CHECK(WriteFile(path, content).ok(), "cannot write into a temporary directory");
  return path;
}

}  // namespace submix::base
