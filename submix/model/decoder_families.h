// config.json of each family. For decoder_config.cc.
#pragma once

#include <string>

#include "submix/base/json_object.h"
#include "submix/base/status.h"
#include "submix/model/decoder_config.h"

namespace submix::model {

// Generous limits: what stays below them cannot overflow a size computed from a config.
inline constexpr int kMaxVocabulary = 1 << 24;
inline constexpr int kMaxContext = 1 << 20;
inline constexpr int kMaxWidth = 1 << 16;
inline constexpr int kMaxLayers = 1 << 12;

base::StatusOr<DecoderConfig> ReadGpt2(const base::JsonObject& json);
// llama, mistral, qwen2, qwen3, gemma2, gemma3_text.
bool IsRotaryFamily(const std::string& family);
base::StatusOr<DecoderConfig> ReadRotaryFamily(const std::string& family,
                                               const base::JsonObject& json);

}  // namespace submix::model
