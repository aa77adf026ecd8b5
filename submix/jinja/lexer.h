// A template's source as tokens, with the white space taken away that Hugging Face's settings and
// the signs of tags take: trim_blocks, lstrip_blocks, "{%-", "-%}", "{%+", "+%}".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "submix/base/status.h"

namespace submix::jinja {

enum class TokenKind {
  kData,  // text outside of tags
  kBeginOutput,
  kEndOutput,
  kBeginBlock,
  kEndBlock,
  kName,
  kString,  // escapes resolved
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  int line = 1;
};

// Ends with a kEnd. Comments are gone, raw blocks are data. Requires: well-formed UTF-8. Errors:
// kInvalidArgument with the line.
base::StatusOr<std::vector<Token>> Tokenize(std::string_view source);

}  // namespace submix::jinja
