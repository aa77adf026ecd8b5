// The directory of what can be made again: packed weights, files' digests, what this machine takes.
// Whatever keeps somebody from using it only costs time. Thread-safe, also between processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/status.h"

namespace submix::base {

// $XDG_CACHE_HOME/submix or ~/.cache/submix; empty if there is neither.
std::string DefaultCacheDirectory();

// What a cache grows to before what was used longest ago is deleted.
struct CacheBounds {
  std::int64_t bytes = std::int64_t{8} << 30;
  std::size_t files = 256;
};

struct CachedFile {
  std::string name;
  std::int64_t bytes = 0;
};

// Those in the directory, the last used first; none if it is not there. Errors: kInternal.
StatusOr<std::vector<CachedFile>> CachedFiles(const std::string& directory);

// Writes a file there, for the owner alone, and deletes what was used longest ago until the rest is
// within the bounds; the new file stays. What somebody has mapped stays readable. Errors:
// MakeDirectories' and WriteFile's.
Status WriteCached(const std::string& directory, const std::string& name, std::string_view content,
                   const CacheBounds& bounds = {});

// To be said of a file whenever it was of use.
void NoteUse(const std::string& path);

// Deletes all files there; Ok if there is no directory. Errors: kInternal.
Status EmptyCache(const std::string& directory);

// Of a file's content, which is read only where it is new or has changed since. Without a directory
// it is always read. Errors: those of VersionOf and Sha256OfFile.
StatusOr<std::string> CachedSha256(const std::string& directory, const std::string& file);

}  // namespace submix::base
