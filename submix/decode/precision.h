// What the weights are kept in and multiplied with. Sums are float32 always. kInt4: groups of 32
// inputs with a scale (weight_groups.h), 4.5 bits a weight.
#pragma once

#include <string_view>

#include "submix/base/status.h"

namespace submix::decode {

enum class Precision { kFloat32, kBfloat16, kInt8, kInt4 };

// "f32", "bf16", "int8", "int4". Errors: kInvalidArgument.
base::StatusOr<Precision> ParsePrecision(std::string_view text);
std::string_view PrecisionName(Precision precision);

// Whether the processor multiplies bfloat16 itself (AMX, AVX-512 bf16).
bool ProcessorMultipliesBfloat16();
// Whether it multiplies bytes and adds up their products in 32 bits (AMX, AVX-512 VNNI).
bool ProcessorMultipliesInt8();

}  // namespace submix::decode
