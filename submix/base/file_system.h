// Files whose loss would matter: manifests, keys, deployments, anchors. Thread-safe, but for two
// writers of one path.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/status.h"

namespace submix::base {

// The whole content. Errors: kNotFound; kDataLoss for what is not a regular file, such as a pipe,
// and for more than a gibibyte; kInternal.
StatusOr<std::string> ReadFile(const std::string& path);
// Replaces `path` by `content` atomically and durably: a reader, and a machine that loses power,
// see the old content or the new, never a mixture. `mode` is the permission bits.
// Errors: kResourceExhausted when the disk is full (the old content stays), kNotFound without the
// directory, kInternal.
Status WriteFile(const std::string& path, std::string_view content, int mode = 0644);
// Adds to the end of a file that is there; what is added survives power loss once this returns.
// Errors: kNotFound, kInternal; kResourceExhausted when the disk is full: a beginning may be there.
Status AppendToFile(const std::string& path, std::string_view bytes);
// A whole file, mapped read-only for as long as somebody holds it. Our writers replace files and
// never shrink them, so that the pages stay.
struct MappedFile {
  std::shared_ptr<void> owner;
  std::span<const std::byte> bytes;
};
// Errors: kNotFound; kDataLoss for what is not a regular file; kInternal.
StatusOr<MappedFile> MapFile(const std::string& path);
// Errors: kInvalidArgument naming the mend if this is not a file's content but what Git LFS leaves
// in its place where only the repository was fetched. `path` opens the message.
Status CheckIsNoLfsPointer(std::string_view content, const std::string& path);
bool FileExists(const std::string& path);
// For formats that number themselves: Ok if this Submix, whose newest is `newest`, knows `format`.
// Errors: kFailedPrecondition.
Status CheckNotNewer(const std::string& path, std::int64_t format, std::int64_t newest);
// Which file a path leads to, whatever it holds. While somebody has a file open, no other one that
// takes its name is the same.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t number = 0;
  bool operator==(const FileIdentity&) const = default;
};
// Errors: kNotFound, kInternal.
StatusOr<FileIdentity> IdentityOf(const std::string& path);
// Changes whenever a file is written or replaced, unless within a few milliseconds: the clock of
// file systems is no finer.
struct FileVersion {
  FileIdentity identity;
  std::int64_t bytes = 0;
  std::chrono::nanoseconds changed{};  // since 1970, by the system's clock
  bool operator==(const FileVersion&) const = default;
};
// Errors: kNotFound, kInternal.
StatusOr<FileVersion> VersionOf(const std::string& path);
// Makes the directory and its parents. Ok if it is there.
Status MakeDirectories(const std::string& path);
// Lets nobody but the owner into the directory: for what is private.
Status MakePrivate(const std::string& directory);
// Atomic and durable. An existing file at `to` is replaced; an existing non-empty directory is
// not.
Status Rename(const std::string& from, const std::string& to);
// Removes a file or a whole directory. Ok if there is none.
Status RemoveAll(const std::string& path);
// Names (not paths) of a directory's entries, sorted.
StatusOr<std::vector<std::string>> ListDirectory(const std::string& path);

// Holds an exclusive advisory lock on a file until destroyed.
class FileLock {
 public:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_;
};

// Takes the exclusive lock of `path` (created if missing) or returns kUnavailable at once.
StatusOr<std::unique_ptr<FileLock>> LockFile(const std::string& path);

// "a/b" from "a" and "b".
std::string JoinPath(std::string_view directory, std::string_view name);

// "/x/a" from "a", "a/" and "a/." in /x, and from a link to /x/a, whether or not it is there: what
// is built beside a place that somebody named has this name with a suffix.
std::string CanonicalPath(const std::string& path);

// "c" from "a/b/c"; empty from "a/".
std::string BaseName(std::string_view path);

}  // namespace submix::base
