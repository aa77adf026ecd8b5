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

// A descriptor of the file.
base::StatusOr<int> OpenForWriting(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor >= 0) return descriptor;
  const char* const mend =
      errno == ENOENT ? "put it back (docs/operating.md, Restore)" : "make it writable";
  return base::FailedPreconditionError(
      path + ": cannot be opened for writing: " + std::strerror(errno) + "; " + mend);
}

// Durable when it returns.
base::Status Write(int descriptor, std::size_t start, std::string_view bytes,
                   const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(start));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return WriteError(path, "write");
    start += static_cast<std::size_t>(count);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  if (::fdatasync(descriptor) != 0) return WriteError(path, "fdatasync");
  return base::OkStatus();
}

}  // namespace

base::Status OtherBranchError(const std::string& anchor_path) {
  return base::DataLossError(anchor_path +
                             ": has seen records that this ledger does not hold: a copy of the "
                             "ledger is charged, too; stop both, and keep the one that `submix "
                             "budget verify` accepts");
}

base::Status CreateAnchor(const std::string& path, const AnchorPosition& position) {
  if (base::FileExists(path)) {
    return base::AlreadyExistsError(path +
                                    ": the anchor of another ledger; restore that ledger, or "
                                    "remove the anchor if it never answered anything");
  }
  const std::string slot = EncodeSlot(position);
  return base::WriteFile(path, slot + slot);
}

base::StatusOr<AnchorPosition> ReadAnchor(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const NewestSlot newest, ReadNewest(path));
  return newest.position;
}

base::StatusOr<AnchorPosition> AdvanceAnchor(const std::string& path,
                                             const AnchorPosition& position) {
  // Opened anew each time: writes must not go to a file that was replaced meanwhile.
  SUBMIX_ASSIGN_OR_RETURN(const int descriptor, OpenForWriting(path));
  const base::FileLock lock(descriptor);
  while (::flock(descriptor, LOCK_EX) != 0) {
    if (errno != EINTR) return WriteError(path, "flock");
  }
  SUBMIX_ASSIGN_OR_RETURN(const NewestSlot newest, ReadNewest(path));
  if (newest.position.lineage != position.lineage) {
    return base::FailedPreconditionError(path +
                                         ": replaced by another ledger's anchor; put this "
                                         "ledger's back");
  }
  if (newest.position.head.records == position.head.records &&
      newest.position.head.hash != position.head.hash) {
    return OtherBranchError(path);
  }
  // What is there is written again: fdatasync may have failed for whoever wrote it, or a kill come
  // first, and no later fdatasync tells. A torn write of the same bytes changes none.
  const bool is_there = newest.position.head.records >= position.head.records;
  const AnchorPosition& newer = is_there ? newest.position : position;
  const auto slot =
      static_cast<std::size_t>(is_there ? newest.slot : (newest.slot + 1) % kNumSlots);
  SUBMIX_RETURN_IF_ERROR(Write(descriptor, slot * kSlotBytes, EncodeSlot(newer), path));
  return newer;
}

}  // namespace submix::ledger
