// The JSON header of a safetensors file, checked completely: what it describes covers the byte
// buffer exactly, so that views made from it are in bounds.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "submix/base/status.h"
#include "submix/model/safetensors.h"

namespace submix::model {

struct SafetensorsHeader {
  struct Entry {
    Dtype dtype = Dtype::kF32;
    std::vector<std::int64_t> shape;
    // Offsets into the byte buffer behind the header: [begin, end).
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  std::map<std::string, Entry, std::less<>> entries;
  std::map<std::string, std::string> metadata;
};

// `text` is the header without its length, `buffer_size` the bytes behind it, `path` opens the
// messages. Errors: kDataLoss, kUnimplemented as SafetensorsFile::Open.
base::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view text,
                                                         std::size_t buffer_size,
                                                         const std::string& path);

// "F32", "F16", "BF16".
std::string_view DtypeName(Dtype dtype);

}  // namespace submix::model
