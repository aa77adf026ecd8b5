// Raw text files as one stream of tokens. Torch-free.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::train {

// The line that ends a document in raw text.
inline constexpr std::string_view kEndOfTextLine = "<|endoftext|>";

// All documents of plain or .xz files in order, end_of_text after each. A
// kEndOfTextLine ends a document, as does the end of a file; documents without text are skipped.
// Stops after `max_tokens` tokens if that is positive. Errors: those of ReadLines.
base::StatusOr<std::vector<base::TokenId>> ReadDocumentTokens(std::span<const std::string> paths,
                                                              const tokenizer::Tokenizer& tokenizer,
                                                              std::int64_t max_tokens);

}  // namespace submix::train
