#include "submix/base/testing/temporary_directory.h"

#include <cstdlib>
#include <filesystem>

#include "submix/base/check.h"

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

}  // namespace submix::base
