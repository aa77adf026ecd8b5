// The bytes of a file that may be packed: gzip, xz, zstd and bzip2 are unpacked on the way, by
// content, whatever the name. Reads pipes, too.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "submix/base/status.h"
#include "submix/corpus/member_decoder.h"

namespace submix::corpus {

// Members of one kind may stand one after the other, and zero bytes, which tapes and `xz` fill up
// with, after one of them. Whatever else follows is an error: what is lost would be users' text.
// One thread at a time.
class UnpackedFile {
 public:
  explicit UnpackedFile(std::string path);
  ~UnpackedFile();
  UnpackedFile(const UnpackedFile&) = delete;
  UnpackedFile& operator=(const UnpackedFile&) = delete;

  // Errors: kNotFound, kInternal; kDataLoss for a file that is named like a packed one and is none.
  base::Status Open();

  // The next bytes, valid until the next call: some tens of thousands, or those up to the end; none
  // at the end. Errors, naming the file: kInternal; MemberDecoder's; kDataLoss for a packed file
  // that is cut short, or has other bytes after it. Requires: Open().
  base::StatusOr<std::string_view> Next();

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 16;

  // Reads until `least` bytes are there, or the end.
  base::Status Fill(std::size_t least);
  // Goes to the next member, if there is one.
  base::StatusOr<bool> BeginMember();
  base::Status DecodeInto(std::span<char>& room);

  const std::string path_;
  int descriptor_ = -1;
  bool is_at_end_ = false;  // of what can be read
  std::array<char, kPieceBytes> packed_;
  std::string_view rest_;  // of what was read, in packed_
  std::array<char, kPieceBytes> unpacked_;
  const PackedKind* kind_ = nullptr;  // null: plain
  std::unique_ptr<MemberDecoder> member_;
};

// "text.csv" of "text.csv.gz".
std::string_view WithoutPackedEnding(std::string_view path);

}  // namespace submix::corpus
