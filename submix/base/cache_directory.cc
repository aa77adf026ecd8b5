#include "submix/base/cache_directory.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "submix/base/digest.h"
#include "submix/base/file_system.h"

namespace submix::base {
namespace {

// The clock of file systems is coarse: a file that has just changed may change again unnoticed.
constexpr std::chrono::seconds kSettled{2};

// Names a file's state without reading it.
std::string StateText(const std::string& path, const FileVersion& version) {
  return path + "\n" + std::to_string(version.identity.device) + " " +
         std::to_string(version.identity.number) + " " + std::to_string(version.bytes) + " " +
         std::to_string(version.changed.count());
}

}  // namespace

std::string DefaultCacheDirectory() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return JoinPath(cache, "submix");
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return JoinPath(JoinPath(home, ".cache"), "submix");
  return "";
}

StatusOr<std::vector<CachedFile>> CachedFiles(const std::string& directory) {
  if (directory.empty() || !FileExists(directory)) return std::vector<CachedFile>();
  SUBMIX_ASSIGN_OR_RETURN(const auto names, ListDirectory(directory));
  std::vector<std::pair<std::chrono::nanoseconds, CachedFile>> found;
  for (const std::string& name : names) {
    struct stat info {};
    // Another process may have deleted it.
    if (::stat(JoinPath(directory, name).c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    const auto used =
        std::chrono::seconds(info.st_mtim.tv_sec) + std::chrono::nanoseconds(info.st_mtim.tv_nsec);
    found.emplace_back(used, CachedFile{name, info.st_size});
  }
  std::ranges::stable_sort(found, std::ranges::greater(),
                           [](const auto& one) { return one.first; });
  std::vector<CachedFile> files;
  for (auto& one : found) files.push_back(std::move(one.second));
  return files;
}

Status WriteCached(const std::string& directory, const std::string& name, std::string_view content,
                   const CacheBounds& bounds) {
  SUBMIX_RETURN_IF_ERROR(MakeDirectories(directory));
  SUBMIX_RETURN_IF_ERROR(WriteFile(JoinPath(directory, name), content, 0600));
  SUBMIX_ASSIGN_OR_RETURN(const auto files, CachedFiles(directory));
  auto bytes = static_cast<std::int64_t>(content.size());
  std::size_t count = 1;
  for (const CachedFile& file : files) {
    if (file.name == name) continue;
    if (bytes + file.bytes > bounds.bytes || count + 1 > bounds.files) {
      SUBMIX_RETURN_IF_ERROR(RemoveAll(JoinPath(directory, file.name)));
    } else {
      bytes += file.bytes;
      ++count;
    }
  }
  return OkStatus();
}

void NoteUse(const std::string& path) { ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); }

Status EmptyCache(const std::string& directory) {
  SUBMIX_ASSIGN_OR_RETURN(const auto files, CachedFiles(directory));
  for (const CachedFile& file : files) {
    SUBMIX_RETURN_IF_ERROR(RemoveAll(JoinPath(directory, file.name)));
  }
  return OkStatus();
}

StatusOr<std::string> CachedSha256(const std::string& directory, const std::string& file) {
  const std::string path = CanonicalPath(file);
  SUBMIX_ASSIGN_OR_RETURN(const FileVersion version, VersionOf(path));
  const std::string name = ToHex(Sha256(StateText(path, version))).substr(0, 32) + ".digest";
  const std::string note = JoinPath(directory, name);
  if (!directory.empty() && FileExists(note)) {
    const auto noted = ReadFile(note);
    if (noted.ok() && Sha256FromHex(*noted).ok()) {
      NoteUse(note);
      return *noted;
    }
  }
  SUBMIX_ASSIGN_OR_RETURN(const Sha256Digest digest, Sha256OfFile(path));
  const std::string hex = ToHex(digest);
  SUBMIX_ASSIGN_OR_RETURN(const FileVersion now, VersionOf(path));
  const auto age = std::chrono::system_clock::now().time_since_epoch() - version.changed;
  if (!directory.empty() && now == version && age > kSettled) {
    (void)WriteCached(directory, name, hex);  // else it is read again
  }
  return hex;
}

}  // namespace submix::base
