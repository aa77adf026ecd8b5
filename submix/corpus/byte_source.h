// The bytes of a file in pieces, unpacked on the way if it is an .xz file.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "submix/base/status.h"

namespace submix::corpus {

// One thread at a time.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Opens `path`; a file that ends in ".xz" or starts with xz's magic bytes is unpacked. Errors:
  // kNotFound, kInternal.
  static base::StatusOr<std::unique_ptr<ByteSource>> Open(const std::string& path);

  // Fills the start of `buffer` (not empty) and returns how many bytes that were, 0 only at the
  // end. Errors: kDataLoss for a damaged or cut .xz; kInternal for a failed read.
  virtual base::StatusOr<std::size_t> Read(std::span<char> buffer) = 0;
};

}  // namespace submix::corpus
