#include "submix/corpus/unpacked_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace submix::corpus {

using base::Status;
using base::StatusOr;

UnpackedFile::UnpackedFile(std::string path) : path_(std::move(path)) {}

UnpackedFile::~UnpackedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status UnpackedFile::Open() {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    const std::string message = path_ + ": cannot be opened for reading: " + std::strerror(errno);
    return errno == ENOENT ? base::NotFoundError(message) : base::InternalError(message);
  }
  SUBMIX_RETURN_IF_ERROR(Fill(kMagicBytes));
  const auto kinds = PackedKinds();
  const auto found =
      std::ranges::find_if(kinds, [this](const PackedKind& kind) { return kind.begins(rest_); });
  if (found != kinds.end()) {
    kind_ = &*found;
    return base::OkStatus();
  }
  const std::size_t name = WithoutPackedEnding(path_).size();
  if (name == path_.size()) return base::OkStatus();
  return base::DataLossError(path_ + ": is not a " + path_.substr(name) +
                             " file, although its name says so, or it is cut short");
}

StatusOr<std::string_view> UnpackedFile::Next() {
  if (kind_ == nullptr) {
    SUBMIX_RETURN_IF_ERROR(Fill(kPieceBytes));
    return std::exchange(rest_, {});
  }
  std::span<char> room = unpacked_;
  while (!room.empty()) {
    if (member_ == nullptr) {
      SUBMIX_ASSIGN_OR_RETURN(const bool has_begun, BeginMember());
      if (!has_begun) break;
    }
    SUBMIX_RETURN_IF_ERROR(DecodeInto(room));
  }
  return std::string_view(unpacked_.data(), unpacked_.size() - room.size());
}

Status UnpackedFile::Fill(std::size_t least) {
  if (rest_.size() >= least || is_at_end_) return base::OkStatus();
  if (!rest_.empty()) std::memmove(packed_.data(), rest_.data(), rest_.size());
  std::size_t size = rest_.size();
  while (size < least && !is_at_end_) {
    const ssize_t count = ::read(descriptor_, packed_.data() + size, packed_.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return base::InternalError(path_ + ": reading failed: " + std::strerror(errno));
    }
    is_at_end_ = count == 0;
    size += static_cast<std::size_t>(count);
  }
  rest_ = {packed_.data(), size};
  return base::OkStatus();
}

StatusOr<bool> UnpackedFile::BeginMember() {
  do {
    rest_.remove_prefix(std::min(rest_.find_first_not_of('\0'), rest_.size()));
    SUBMIX_RETURN_IF_ERROR(Fill(kMagicBytes));
  } while (rest_.starts_with('\0'));
  if (rest_.empty()) return false;
  if (!kind_->begins(rest_)) {
    return base::DataLossError(
        path_ + ": other bytes follow what is packed as " + std::string(kind_->ending) +
        ", and nothing is read of them; copy the file again, or unpack it and see what is missing");
  }
  member_ = kind_->make();
  return true;
}

Status UnpackedFile::DecodeInto(std::span<char>& room) {
  SUBMIX_RETURN_IF_ERROR(Fill(1));
  const std::size_t in = rest_.size();
  const std::size_t out = room.size();
  const StatusOr<bool> has_ended = member_->Decode(rest_, room);
  if (!has_ended.ok()) {
    return {has_ended.status().code(), path_ + ": " + std::string(has_ended.status().message())};
  }
  if (*has_ended) {
    member_.reset();
  } else if (rest_.size() == in && room.size() == out) {
    return base::DataLossError(path_ + ": the packed file is cut short; copy it again");
  }
  return base::OkStatus();
}

std::string_view WithoutPackedEnding(std::string_view path) {
  for (const PackedKind& kind : PackedKinds()) {
    if (path.ends_with(kind.ending)) return path.substr(0, path.size() - kind.ending.size());
  }
  return path;
}

}  // namespace submix::corpus
