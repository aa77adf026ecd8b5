// What a directory says of tokens beside its vocabulary: tokenizer_config.json, and of older
// directories special_tokens_map.json and added_tokens.json. Each is read where Hugging Face's
// transformers reads it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "submix/base/json_object.h"
#include "submix/base/status.h"
#include "submix/tokenizer/added_tokens.h"

namespace submix::tokenizer {

// An added token, and what errors about it begin with.
struct DeclaredToken {
  AddedToken token;
  std::string place;
};

struct TokenDeclarations {
  std::vector<DeclaredToken> added;       // by their ids; they come after those of tokenizer.json
  std::set<std::string> named;            // contents of eos_token, pad_token and the like
  std::string end_of_text;                // eos_token; empty if it is not named
  std::string beginning;                  // bos_token
  std::optional<bool> adds_beginning;     // add_bos_token
  std::optional<bool> adds_prefix_space;  // add_prefix_space
  std::string tokenizer_class;
  std::string path;  // tokenizer_config.json's
};

// An entry of `added_tokens` or `added_tokens_decoder`, but for its id. Errors: kInvalidArgument.
base::StatusOr<AddedToken> ReadAddedToken(const base::JsonObject& object);

// `listed`: the ids that tokenizer.json's own list has; an older file's entries of these are not
// read. Errors: kInvalidArgument naming file and field.
base::StatusOr<TokenDeclarations> ReadTokenDeclarations(const std::string& directory,
                                                        const std::set<std::int64_t>& listed);

}  // namespace submix::tokenizer
