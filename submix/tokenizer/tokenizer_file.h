// The text of a tokenizer's files: vocabulary and merges, which may be hundreds of thousands, apart
// from everything else. What the entries mean is tokenizer_parts.cc's.
#pragma once

#include <cstddef>
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
    std::size_t number = 0;  // in its list, or its line
  };

  base::JsonObject settings;            // the file, with null for the two below
  std::vector<Entry> vocabulary;        // in the order of the file
  std::vector<Merge> merges;            // the first first
  std::string vocabulary_place;         // what errors about them begin with
  std::string merges_place;             // the same, to be followed by a number
  std::shared_ptr<const void> storage;  // what the views look into
  bool is_gpt2 = false;                 // of vocab.json and merges.txt
};

// tokenizer.json. Errors: kNotFound; kInvalidArgument naming file and field: those of ReadText, no
// JSON, no object `model`, a vocabulary that is not an object of integers, an empty piece or one
// above 4096 bytes, merges that are neither "left right" nor ["left", "right"]; what JsonObject
// refuses elsewhere in the file.
base::StatusOr<TokenizerFile> ReadTokenizerFile(const std::string& path);
// GPT-2's vocab.json and merges.txt, as the tokenizer.json that says the same. Errors: as above,
// naming file and line.
base::StatusOr<TokenizerFile> ReadVocabularyFiles(const std::string& directory);

// A whole file of text. Errors: kNotFound; kInvalidArgument for a byte-order mark at its beginning,
// and for what git-lfs leaves in the place of a file that was not fetched.
base::StatusOr<std::string> ReadText(const std::string& path);
// The same, of a JSON object.
base::StatusOr<base::JsonObject> ReadJson(const std::string& path);

}  // namespace submix::tokenizer
