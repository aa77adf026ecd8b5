// The packed formats that a text may come in: gzip, xz, zstd and bzip2, one member at a time.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "submix/base/status.h"

namespace submix::corpus {

// What is packed on its own within a file: a gzip member, an xz or bzip2 stream, a zstd frame. One
// thread at a time.
class MemberDecoder {
 public:
  virtual ~MemberDecoder() = default;

  // Unpacks from the front of `packed` into the front of `room`, and takes what it used off both:
  // all of one of them, but at the member's end. Returns whether the member has ended. Errors,
  // without a file's name: kDataLoss for damage; kResourceExhausted; kInvalidArgument for what is
  // not read, with the way round.
  virtual base::StatusOr<bool> Decode(std::string_view& packed, std::span<char>& room) = 0;
};

struct PackedKind {
  std::string_view ending;  // ".gz"
  // Whether a member of this kind begins with these bytes. Requires: kMagicBytes of them, or all
  // that there are.
  bool (*begins)(std::string_view start);
  std::unique_ptr<MemberDecoder> (*make)();
};
inline constexpr std::size_t kMagicBytes = 10;

// Those that are read.
std::span<const PackedKind> PackedKinds();

// A member may ask for as much memory as this: the window of `zstd --long=31`.
inline constexpr std::size_t kMostWindowBytes = std::size_t{2} << 30;

}  // namespace submix::corpus
