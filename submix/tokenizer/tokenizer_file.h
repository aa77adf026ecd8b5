// The text of a tokenizer.json: its vocabulary and merges, which may be hundreds of thousands,
// apart from everything else. What the entries mean is tokenizer_json.cc's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/json_object.h"
#include "submix/base/status.h"

namespace submix::tokenizer {

struct TokenizerFile {
  struct Entry {
    std::string_view piece;
    std::int64_t id = 0;
  };
  struct Merge {
    std::string_view left;
    std::string_view right;
  };

  std::string path;
  base::JsonObject settings;            // the file, with null for the two below
  std::vector<Entry> vocabulary;        // model.vocab, in the order of the file
  std::vector<Merge> merges;            // model.merges
  std::shared_ptr<const void> storage;  // what the views look into
};

// Errors: kNotFound; kInvalidArgument naming file and field: no JSON, no object `model`, a
// vocabulary that is not an object of integers, an empty piece or one above 4096 bytes, merges that
// are neither "left right" nor ["left", "right"]; what JsonObject refuses elsewhere in the file.
base::StatusOr<TokenizerFile> ReadTokenizerFile(const std::string& path);

}  // namespace submix::tokenizer
