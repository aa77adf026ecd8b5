#include "submix/train/models/frozen_states.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "submix/base/check.h"
#include "submix/base/file_system.h"

namespace submix::train {
namespace {

// Without a name from the start or, where the file system has no such files, an instant later.
int OpenScratchFile(const std::string& directory) {
  constexpr int kFlags = O_RDWR | O_CLOEXEC;
  constexpr mode_t kOwnerAlone = 0600;
  const int nameless = ::open(directory.c_str(), O_TMPFILE | O_EXCL | kFlags, kOwnerAlone);
  if (nameless >= 0) return nameless;
  const std::string path = base::JoinPath(directory, "frozen_states");
  ::unlink(path.c_str());
  const int named = ::open(path.c_str(), O_CREAT | O_EXCL | kFlags, kOwnerAlone);
  if (named >= 0) ::unlink(path.c_str());
  return named;
}

// Moves the whole of a buffer by `transfer(bytes done)`, pread or pwrite; false: it cannot.
template <typename Transfer>
bool MoveAll(std::size_t size, const Transfer& transfer) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count = transfer(done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

FrozenStates::FrozenStates(const std::string& directory, std::size_t blocks,
                           std::size_t state_bytes, const FrozenStatesBounds& bounds)
    : state_bytes_(state_bytes),
      bounds_(bounds),
      descriptor_(OpenScratchFile(directory)),
      kept_(blocks) {
  SUBMIX_CHECK(state_bytes > 0, "states have a size");
}

FrozenStates::~FrozenStates() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool FrozenStates::Read(std::size_t block, std::span<std::byte> state) const {
  if (kept_[block] != state.size() || state.empty()) return false;
  return MoveAll(state.size(), [&](std::size_t done) {
    return ::pread(descriptor_, state.data() + done, state.size() - done,
                   static_cast<off_t>(block * state_bytes_ + done));
  });
}

void FrozenStates::Keep(std::size_t block, std::span<const std::byte> state) {
  SUBMIX_CHECK(state.size() <= state_bytes_, "a state beyond its place");
  if (!HasRoom(block)) return;
  const bool is_whole = MoveAll(state.size(), [&](std::size_t done) {
    return ::pwrite(descriptor_, state.data() + done, state.size() - done,
                    static_cast<off_t>(block * state_bytes_ + done));
  });
  kept_[block] = is_whole ? state.size() : 0;
}

bool FrozenStates::HasRoom(std::size_t block) const {
  if (descriptor_ < 0) return false;
  if (block >= static_cast<std::size_t>(bounds_.most_bytes) / state_bytes_) return false;
  struct statvfs disk {};
  if (::fstatvfs(descriptor_, &disk) != 0) return false;
  return static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize) >=
         static_cast<double>(bounds_.least_free_bytes) + static_cast<double>(state_bytes_);
}

}  // namespace submix::train
