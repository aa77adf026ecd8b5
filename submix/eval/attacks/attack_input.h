// What attacks read: files with one JSON object a line. Errors name file and line and never quote
// text.
#pragma once

#include <string>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::eval {

// A secret that stands in somebody's private text, and the words before it.
struct PlantedCode {
  std::string prompt;
  std::string secret;  // with the space before it, if there is one
};

// {"prompt": "My number is:", "secret": " 4815"}; other fields are ignored. Errors: kNotFound;
// kInvalidArgument for anything else, or a file without any line.
base::StatusOr<std::vector<PlantedCode>> ReadPlantedCodes(const std::string& path);

// A piece of private text, cut in two.
struct TargetedExample {
  std::vector<base::TokenId> prefix;
  std::vector<base::TokenId> suffix;
};

// {"prefix": …, "suffix": …}, both texts or both arrays of token ids, as the Training Data
// Extraction Challenge gives them. A text's suffix is what the tokens of the whole have after those
// that the prefix alone has too. Errors: as above.
base::StatusOr<std::vector<TargetedExample>> ReadTargetedExamples(
    const std::string& path, const tokenizer::Tokenizer& tokenizer);

}  // namespace submix::eval
