#include "submix/ledger/anchor.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "submix/base/file_system.h"

namespace submix::ledger {
namespace {

// Two slots of one sector each, written in turn: a torn write spoils one of them at most.
constexpr std::size_t kSlotBytes = 512;
constexpr int kNumSlots = 2;
constexpr std::string_view kMagic = "submix-anchor 1 ";
constexpr int kRecordDigits = 20;
constexpr std::size_t kLineageDigits = 2 * sizeof(Lineage);
constexpr std::size_t kHashDigits = 2 * sizeof(base::Sha256Digest);
// "submix-anchor 1 LINEAGE RECORDS HASH ", then the checksum of these bytes.
constexpr std::size_t kSignedBytes =
    kMagic.size() + kLineageDigits + 1 + kRecordDigits + 1 + kHashDigits + 1;

std::string EncodeSlot(const AnchorPosition& position) {
  std::string records = std::to_string(position.head.records);
  records.insert(0, kRecordDigits - records.size(), '0');
  std::string slot = std::string(kMagic) + base::ToHex(position.lineage) + " " + records + " " +
                     base::ToHex(position.head.hash) + " ";
  slot += base::ToHex(base::Sha256(slot));
  slot.resize(kSlotBytes - 1, ' ');
  return slot + "\n";
}

// The lineage has half as many digits as a digest: read as one whose other half is zeros.
std::optional<Lineage> ParseLineage(std::string_view digits) {
  const auto padded = base::Sha256FromHex(std::string(digits) + std::string(digits.size(), '0'));
  if (!padded.ok()) return std::nullopt;
  Lineage lineage;
  std::copy_n(padded->begin(), lineage.size(), lineage.begin());
  return lineage;
}

std::optional<AnchorPosition> DecodeSlot(std::string_view slot) {
  if (slot.size() != kSlotBytes || !slot.starts_with(kMagic)) return std::nullopt;
  const std::string_view records = slot.substr(kMagic.size() + kLineageDigits + 1, kRecordDigits);
  AnchorPosition position;
  std::from_chars(records.data(), records.data() + records.size(), position.head.records);
  const auto lineage = ParseLineage(slot.substr(kMagic.size(), kLineageDigits));
  const auto hash = base::Sha256FromHex(slot.substr(kSignedBytes - 1 - kHashDigits, kHashDigits));
  if (!lineage || !hash.ok()) return std::nullopt;
  position.lineage = *lineage;
  position.head.hash = *hash;
  // One spelling only: whatever differs in a byte is damaged.
  if (slot != EncodeSlot(position)) return std::nullopt;
  return position;
}

struct NewestSlot {
  int slot = 0;
  AnchorPosition position;
};

std::optional<NewestSlot> FindNewest(std::string_view content) {
  std::optional<NewestSlot> newest;
  for (int slot = 0; slot < kNumSlots; ++slot) {
    const std::size_t start = static_cast<std::size_t>(slot) * kSlotBytes;
    if (start >= content.size()) break;
    const auto position = DecodeSlot(content.substr(start, kSlotBytes));
    if (!position) continue;
    if (!newest || position->head.records > newest->position.head.records) {
      newest = {slot, *position};
    }
  }
  return newest;
}

base::StatusOr<NewestSlot> ReadNewest(const std::string& path) {
  // A reader beside a writer can meet a slot that is just being written, hardly ever both.
  constexpr int kAttempts = 3;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    SUBMIX_ASSIGN_OR_RETURN(const std::string content, base::ReadFile(path));
    if (const auto newest = FindNewest(content)) return *newest;
  }
  return base::DataLossError(path +
                             ": damaged: no whole line of a ledger's anchor in it; restore the "
                             "newest copies of the anchor and of its ledger");
}

base::Status WriteError(const std::string& path, const char* action) {
  const std::string what = path + ": " + action + " failed: " + std::strerror(errno);
  if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) {
    return base::ResourceExhaustedError(what + "; free some space on its disk");
  }
  return base::InternalError(what);
}

// The file, open for writing, and nobody else writing it.
class LockedFile {
 public:
  static base::StatusOr<std::unique_ptr<LockedFile>> Open(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor < 0) {
      const char* const mend =
          errno == ENOENT ? "put it back (docs/operating.md, Restore)" : "make it writable";
      return base::FailedPreconditionError(
          path + ": cannot be opened for writing: " + std::strerror(errno) + "; " + mend);
    }
    std::unique_ptr<LockedFile> file(new LockedFile(path, descriptor));
    while (::flock(descriptor, LOCK_EX) != 0) {
      if (errno != EINTR) return WriteError(path, "flock");
    }
    return file;
  }
  ~LockedFile() { ::close(descriptor_); }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  // Durable when it returns.
  base::Status Write(std::size_t start, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count =
          ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(start));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return WriteError(path_, "write");
      start += static_cast<std::size_t>(count);
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    if (::fdatasync(descriptor_) != 0) return WriteError(path_, "fdatasync");
    return base::OkStatus();
  }

 private:
  LockedFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  const std::string path_;
  const int descriptor_;
};

}  // namespace

base::Status Anchor::Create(const std::string& path, const AnchorPosition& position) {
  if (base::FileExists(path)) {
    return base::AlreadyExistsError(path +
                                    ": the anchor of another ledger; restore that ledger, or "
                                    "remove the anchor if it never answered anything");
  }
  const std::string slot = EncodeSlot(position);
  return base::WriteFile(path, slot + slot);
}

base::StatusOr<AnchorPosition> Anchor::Read(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const NewestSlot newest, ReadNewest(path));
  return newest.position;
}

base::StatusOr<std::unique_ptr<Anchor>> Anchor::Open(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const NewestSlot newest, ReadNewest(path));
  SUBMIX_RETURN_IF_ERROR(LockedFile::Open(path).status());
  return std::unique_ptr<Anchor>(new Anchor(path, newest.position));
}

Anchor::Anchor(std::string path, AnchorPosition position)
    : path_(std::move(path)), position_(position) {}

base::Status Anchor::Advance(const Ledger::Head& head) {
  // Opened anew each time: writes must not go to a file that was replaced meanwhile.
  SUBMIX_ASSIGN_OR_RETURN(const auto file, LockedFile::Open(path_));
  SUBMIX_ASSIGN_OR_RETURN(const NewestSlot newest, ReadNewest(path_));
  if (newest.position.lineage != position_.lineage) {
    return base::FailedPreconditionError(path_ +
                                         ": replaced by another ledger's anchor; put this "
                                         "ledger's back");
  }
  position_ = newest.position;
  if (position_.head.records >= head.records) return base::OkStatus();
  const AnchorPosition next{position_.lineage, head};
  const auto slot = static_cast<std::size_t>((newest.slot + 1) % kNumSlots);
  SUBMIX_RETURN_IF_ERROR(file->Write(slot * kSlotBytes, EncodeSlot(next)));
  position_ = next;
  return base::OkStatus();
}

}  // namespace submix::ledger
