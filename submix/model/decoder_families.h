// The description of a decoder out of the fields of its family (config_fields.h), which are
// complete. For decoder_config.cc.
#pragma once

#include <string_view>

#include "submix/base/json_object.h"
#include "submix/base/status.h"
#include "submix/model/decoder_config.h"

namespace submix::model {

// Generous limits: what stays below them cannot overflow a size computed from a config.
inline constexpr int kMaxVocabulary = 1 << 24;
inline constexpr int kMaxContext = 1 << 20;
inline constexpr int kMaxWidth = 1 << 16;
inline constexpr int kMaxLayers = 1 << 12;

// All: errors: kInvalidArgument naming file and field.
base::StatusOr<DecoderConfig> ReadGpt2(const base::JsonObject& fields);
// Of the other families, which "model_type" tells apart.
base::StatusOr<DecoderConfig> ReadRotaryFamily(const base::JsonObject& fields);

// What both read: the first of eos_token_id, 0 if there is none; an epsilon of norms.
base::StatusOr<int> FirstEndToken(const base::JsonObject& fields, int vocab_size);
base::StatusOr<double> NormEpsilon(const base::JsonObject& fields, std::string_view field);

struct RotaryPositions {
  Rotary everywhere;  // of layers that see everything
  Rotary windowed;    // of layers with a window
};
// Out of rope_theta, rope_scaling and rope_parameters, as transformers 4 and 5 write them.
// Requires: vocabulary and sizes of `config`.
base::StatusOr<RotaryPositions> ReadRotaryPositions(const base::JsonObject& fields,
                                                    const DecoderConfig& config);

}  // namespace submix::model
