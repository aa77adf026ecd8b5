#include "tests/fuzz/fuzzed_directory.h"

#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include "submix/base/check.h"
#include "submix/base/file_system.h"

namespace submix::fuzz {
namespace {

constexpr std::string_view kSeparator = "====\n";

}  // namespace

FuzzedDirectory::FuzzedDirectory() {
  const bool is_in_memory = ::access("/dev/shm", W_OK) == 0;
  path_ = (is_in_memory ? "/dev/shm" : std::filesystem::temp_directory_path()) /
          std::filesystem::path("submix_fuzz_XXXXXX");
  SUBMIX_CHECK(::mkdtemp(path_.data()) != nullptr, "cannot make a temporary directory");
}

FuzzedDirectory::~FuzzedDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string FuzzedDirectory::File(std::string_view name) const {
  return base::JoinPath(path_, name);
}

// Without the syncing and renaming of base::WriteFile, which would take longer than most readers.
std::string FuzzedDirectory::Put(std::string_view name, std::string_view content) const {
  std::string path = File(name);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool is_written =
      file >= 0 && ::write(file, content.data(), content.size()) == std::ssize(content);
  SUBMIX_CHECK(is_written && ::close(file) == 0, "cannot write into a temporary directory");
  return path;
}

std::string FuzzedDirectory::Get(std::string_view name) const {
  auto content = base::ReadFile(File(name));
  SUBMIX_CHECK(content.ok(), "the file must be there");
  return *std::move(content);
}

std::vector<std::string_view> Pieces(std::string_view input, std::size_t count) {
  std::vector<std::string_view> pieces(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t end = i + 1 < count ? input.find(kSeparator) : std::string_view::npos;
    pieces[i] = input.substr(0, end);
    if (end == std::string_view::npos) break;
    input.remove_prefix(end + kSeparator.size());
  }
  return pieces;
}

}  // namespace submix::fuzz
