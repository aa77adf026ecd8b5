// The one seam to the operating system's files for everything whose loss would matter: manifests,
// keys, deployments, anchors. Tests replace it by one that fills up or loses unsynced bytes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/status.h"

namespace submix::base {

// Holds an exclusive advisory lock on a file until destroyed.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

// Thread-safe.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // The whole content. Errors: kNotFound, kInternal.
  virtual StatusOr<std::string> ReadFile(const std::string& path) = 0;
  // Replaces `path` by `content` atomically and durably: a reader, and a machine that loses power,
  // see the old content or the new, never a mixture. `mode` is the permission bits.
  // Errors: kResourceExhausted when the disk is full (the old content stays), kInternal.
  virtual Status WriteFile(const std::string& path, std::string_view content, int mode = 0644) = 0;
  virtual bool Exists(const std::string& path) = 0;
  // Makes the directory and its parents. Ok if it is there.
  virtual Status MakeDirectories(const std::string& path) = 0;
  // Lets nobody but the owner into the directory: for what is private.
  virtual Status MakePrivate(const std::string& directory) = 0;
  // Atomic and durable. An existing file at `to` is replaced; an existing non-empty directory is
  // not.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  // Removes a file or a whole directory. Ok if there is none.
  virtual Status RemoveAll(const std::string& path) = 0;
  // Names (not paths) of a directory's entries, sorted.
  virtual StatusOr<std::vector<std::string>> List(const std::string& path) = 0;
  // Takes the exclusive lock of `path` (created if missing) or returns kUnavailable at once.
  virtual StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) = 0;
};

// The real one. Lives for ever.
FileSystem& PosixFileSystem();

// "a/b" from "a" and "b".
std::string JoinPath(std::string_view directory, std::string_view name);

// "c" from "a/b/c"; empty from "a/".
std::string BaseName(std::string_view path);

}  // namespace submix::base
