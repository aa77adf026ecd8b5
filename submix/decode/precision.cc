#include "submix/decode/precision.h"

#include <string>

#include <dnnl.hpp>

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
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::avx512_core_bf16:
    case dnnl::cpu_isa::avx512_core_amx:
      return true;
    default:
      return false;
  }
}

bool ProcessorMultipliesInt8() {
  return ProcessorMultipliesBfloat16() ||
         dnnl::get_effective_cpu_isa() == dnnl::cpu_isa::avx512_core_vnni;
}

}  // namespace submix::decode
