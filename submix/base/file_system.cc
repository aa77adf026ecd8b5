#include "submix/base/file_system.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace submix::base {
namespace {

namespace fs = std::filesystem;

Status ErrnoError(const std::string& path, const char* action, int error) {
  std::string message = path + ": " + action + " failed: " + std::strerror(error);
  if (error == ENOENT || error == ENOTDIR) return NotFoundError(std::move(message));
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    return ResourceExhaustedError(std::move(message) + "; free some space and run it again");
  }
  return InternalError(std::move(message));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  // Closes now and reports what close reports.
  int Close() {
    const int result = ::close(fd_);
    fd_ = -1;
    return result;
  }

 private:
  int fd_;
};

// Without O_NONBLOCK a pipe in a file's place would make us wait for ever.
constexpr int kOpenToRead = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
constexpr std::size_t kLargestFile = std::size_t{1} << 30;

Status SyncDirectoryOf(const std::string& path) {
  std::string parent = fs::path(path).parent_path().string();
  if (parent.empty()) parent = ".";
  Descriptor directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0) return ErrnoError(parent, "open", errno);
  if (::fsync(directory.get()) != 0) return ErrnoError(parent, "fsync", errno);
  return OkStatus();
}

Status WriteAll(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t count = ::write(fd, content.data(), content.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      return ErrnoError(path, "write", errno);
    }
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  return OkStatus();
}

Status WriteSyncedFile(const std::string& path, std::string_view content, int mode) {
  Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, static_cast<mode_t>(mode)));
  if (file.get() < 0) return ErrnoError(path, "open", errno);
  SUBMIX_RETURN_IF_ERROR(WriteAll(file.get(), content, path));
  if (::fsync(file.get()) != 0) return ErrnoError(path, "fsync", errno);
  if (file.Close() != 0) return ErrnoError(path, "close", errno);
  return OkStatus();
}

// The state of what is open, if that is a regular file.
StatusOr<struct stat> StateOf(const Descriptor& file, const std::string& path) {
  if (file.get() < 0) return ErrnoError(path, "open", errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return ErrnoError(path, "stat", errno);
  if (!S_ISREG(info.st_mode)) return DataLossError(path + ": not a regular file");
  return info;
}

}  // namespace

StatusOr<std::string> ReadFile(const std::string& path) {
  const Descriptor file(::open(path.c_str(), kOpenToRead));
  SUBMIX_RETURN_IF_ERROR(StateOf(file, path).status());
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count == 0) return content;
    if (count < 0) {
      if (errno == EINTR) continue;
      return ErrnoError(path, "read", errno);
    }
    content.append(buffer, static_cast<std::size_t>(count));
    if (content.size() > kLargestFile) {
      return DataLossError(path + ": larger than a gibibyte, which no file of its kind is");
    }
  }
}

StatusOr<MappedFile> MapFile(const std::string& path) {
  const Descriptor file(::open(path.c_str(), kOpenToRead));
  SUBMIX_ASSIGN_OR_RETURN(const struct stat info, StateOf(file, path));
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return MappedFile{};  // mmap refuses zero bytes
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (address == MAP_FAILED) return ErrnoError(path, "mmap", errno);
  return MappedFile{{address, [size](void* mapped) { ::munmap(mapped, size); }},
                    {static_cast<const std::byte*>(address), size}};
}

Status WriteFile(const std::string& path, std::string_view content, int mode) {
  const std::string temporary = path + ".new";
  Status status = WriteSyncedFile(temporary, content, mode);
  if (status.ok()) status = Rename(temporary, path);
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

Status AppendToFile(const std::string& path, std::string_view bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (file.get() < 0) return ErrnoError(path, "open", errno);
  SUBMIX_RETURN_IF_ERROR(WriteAll(file.get(), bytes, path));
  if (::fdatasync(file.get()) != 0) return ErrnoError(path, "fdatasync", errno);
  return OkStatus();
}

Status CheckIsNoLfsPointer(std::string_view content, const std::string& path) {
  if (!content.starts_with("version https://git-lfs.github.com/")) return OkStatus();
  return InvalidArgumentError(path +
                              ": is a pointer of Git LFS, not the file itself; `git lfs pull` in "
                              "its repository fetches that");
}

bool FileExists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

StatusOr<FileIdentity> IdentityOf(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return ErrnoError(path, "stat", errno);
  return FileIdentity{info.st_dev, info.st_ino};
}

StatusOr<FileVersion> VersionOf(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return ErrnoError(path, "stat", errno);
  const std::chrono::nanoseconds changed =
      std::chrono::seconds(info.st_ctim.tv_sec) + std::chrono::nanoseconds(info.st_ctim.tv_nsec);
  return FileVersion{{info.st_dev, info.st_ino}, info.st_size, changed};
}

Status CheckNotNewer(const std::string& path, std::int64_t format, std::int64_t newest) {
  if (format <= newest) return OkStatus();
  return FailedPreconditionError(path + ": written by a newer Submix (format " +
                                 std::to_string(format) + "; this one reads up to " +
                                 std::to_string(newest) + "); upgrade");
}

Status MakeDirectories(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return ErrnoError(path, "mkdir", error.value());
  return OkStatus();
}

Status MakePrivate(const std::string& directory) {
  if (::chmod(directory.c_str(), 0700) != 0) return ErrnoError(directory, "chmod", errno);
  return OkStatus();
}

Status Rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return ErrnoError(to, "rename", errno);
  return SyncDirectoryOf(to);
}

Status RemoveAll(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return ErrnoError(path, "remove", error.value());
  return OkStatus();
}

StatusOr<std::vector<std::string>> ListDirectory(const std::string& path) {
  std::error_code error;
  fs::directory_iterator entries(path, error);
  if (error) return ErrnoError(path, "list", error.value());
  std::vector<std::string> names;
  for (const auto& entry : entries) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

StatusOr<std::unique_ptr<FileLock>> LockFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoError(path, "open", errno);
  auto lock = std::make_unique<FileLock>(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return UnavailableError(path + ": another process holds this lock");
    }
    return ErrnoError(path, "flock", errno);
  }
  return lock;
}

FileLock::~FileLock() { ::close(descriptor_); }

std::string CanonicalPath(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(path, error);
  return ((error ? fs::path(path) : whole) / "").parent_path().string();
}

std::string JoinPath(std::string_view directory, std::string_view name) {
  return (fs::path(directory) / name).string();
}

std::string BaseName(std::string_view path) { return fs::path(path).filename().string(); }

}  // namespace submix::base
