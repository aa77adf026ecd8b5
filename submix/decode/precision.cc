#include "submix/decode/precision.h"

#include <string>

#include "submix/base/instruction_sets.h"

namespace submix::decode {

base::StatusOr<Precision> ParsePrecision(std::string_view text) {
  for (const Precision precision :
       {Precision::kFloat32, Precision::kBfloat16, Precision::kInt8, Precision::kInt4}) {
    if (text == PrecisionName(precision)) return precision;
  }
  return base::InvalidArgumentError("precision \"" + std::string(text) +
                                    "\": expected f32, bf16, int8 or int4");
}

std::string_view PrecisionName(Precision precision) {
  constexpr std::string_view kNames[] = {"f32", "bf16", "int8", "int4"};
  return kNames[static_cast<std::size_t>(precision)];
}

bool ProcessorMultipliesBfloat16() {
  return base::ChosenInstructionSet() >= base::InstructionSet::kBf16;
}

bool ProcessorMultipliesInt8() {
  return base::ChosenInstructionSet() >= base::InstructionSet::kVnni;
}

}  // namespace submix::decode
