// Which tokens end what a model generates.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "submix/base/json_object.h"
#include "submix/base/status.h"

namespace submix::model {

inline constexpr char kGenerationConfigFile[] = "generation_config.json";
inline constexpr char kEndTokensField[] = "eos_token_id";

// A field that is one token id or a list of at least one. Errors: kInvalidArgument naming the field
// if it is neither, or an id is not in [0, vocab_size).
base::StatusOr<std::vector<int>> ReadTokenIds(const base::JsonObject& json, std::string_view field,
                                              int vocab_size);

// eos_token_id of `directory`/generation_config.json; none where that is not there or does not say.
// Errors: those of reading; kInvalidArgument naming file and field.
base::StatusOr<std::vector<int>> LoadGenerationEnds(const std::string& directory, int vocab_size);

// As Hugging Face's generation has it: those, or where there are none eos_token_id of config.json,
// which may be none, too (null, or absent from a Qwen's). Errors: those of LoadGenerationEnds and
// of reading config.json.
base::StatusOr<std::vector<int>> LoadEndTokens(const std::string& directory);

}  // namespace submix::model
