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

// As Hugging Face's generation has it: eos_token_id of `directory`/generation_config.json, or of
// config.json where that does not say, or none where that is null, too (or absent: a Qwen's).
// Errors: those of LoadDecoderConfig's reading; kInvalidArgument naming file and field.
base::StatusOr<std::vector<int>> LoadEndTokens(const std::string& directory);

}  // namespace submix::model
