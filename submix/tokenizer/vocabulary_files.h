// GPT-2's two files: vocab.json and merges.txt.
#pragma once

#include <string>

#include "submix/base/status.h"
#include "submix/tokenizer/byte_pair_tokenizer.h"

namespace submix::tokenizer {

// Errors: those of Tokenizer::Load.
base::StatusOr<BytePairParts> ReadVocabularyFiles(const std::string& directory);

}  // namespace submix::tokenizer
