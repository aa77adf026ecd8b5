// Blocks of text as users, as the SubMix paper cuts WikiText: a corpus without users, or with other
// users than one wants, becomes one.
#pragma once

#include <cstdint>
#include <string>

#include "submix/base/status.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::eval {

// Writes user-keyed JSONL to `output`: every block of at most `block_tokens` >= 2 consecutive
// tokens of a document (or, in a user-keyed file, of a user) of `input` is a user of its own.
// Returns their number. Errors: those of reading `input` (HeldoutFromFile) and of writing.
base::StatusOr<std::int64_t> WriteBlockUsers(const std::string& input, const std::string& output,
                                             const tokenizer::Tokenizer& tokenizer,
                                             int block_tokens);

}  // namespace submix::eval
