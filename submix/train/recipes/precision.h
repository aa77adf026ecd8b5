// The precision of matrix products; everything that is summed over many terms stays float32.
#pragma once

#include <string>

namespace submix::train {

// kBfloat16 pays off on processors with AMX (or AVX-512 bf16); master weights stay float32.
enum class Precision { kFloat32, kBfloat16 };

// "f32" or "bf16", as options and manifests have it.
inline std::string PrecisionName(Precision precision) {
  return precision == Precision::kFloat32 ? "f32" : "bf16";
}
inline Precision PrecisionOf(const std::string& name) {
  return name == "f32" ? Precision::kFloat32 : Precision::kBfloat16;
}

}  // namespace submix::train
