// Hugging Face's tokenizer.json with a model of type BPE, and the eos_token of
// tokenizer_config.json.
#pragma once

#include <string>

#include "submix/base/status.h"
#include "submix/tokenizer/byte_pair_tokenizer.h"

namespace submix::tokenizer {

// Errors: those of Tokenizer::Load.
//
// Added tokens are markers, which no text makes, unless they are of the model's own vocabulary and
// not special (Gemma's tags and line ends): those are matched literally, as their library does. A
// merge into or of a marker is left out, since there it never happens either: the library cuts
// markers out of the text before.
base::StatusOr<BytePairParts> ReadTokenizerJson(const std::string& directory);

}  // namespace submix::tokenizer
