// The two 16-bit floats of model files as bit patterns: IEEE 754 binary16 (F16) and bfloat16
// (BF16). Integer arithmetic only, so that no processor mode (flush to zero) changes a value.
#pragma once

#include <bit>
#include <cstdint>

namespace submix::model {

// Exact. NaN stays NaN.
inline float FloatFromHalf(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fu;
  const std::uint32_t fraction = half & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, a normal float
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide_exponent = exponent == 0x1f ? 0xffu : exponent + 112;
  return std::bit_cast<float>(sign | wide_exponent << 23 | fraction << 13);
}

// Exact.
inline float FloatFromBfloat16(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

// To nearest, ties to even; 65520 and more become infinity; NaN stays a (quiet) NaN.
inline std::uint16_t HalfFromFloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= std::bit_cast<std::uint32_t>(65520.0f)) {
    return static_cast<std::uint16_t>(sign | 0x7c00u);
  }
  if (magnitude < std::bit_cast<std::uint32_t>(0x1p-14f)) {  // a multiple of 2^-24
    const std::uint32_t shift = 126 - (magnitude >> 23);
    if (shift > 24) return static_cast<std::uint16_t>(sign);
    const std::uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
    const std::uint32_t floor = significand >> shift;
    const std::uint32_t rest = significand - (floor << shift);
    const std::uint32_t half_unit = 1u << (shift - 1);
    const bool is_up = rest > half_unit || (rest == half_unit && (floor & 1u) != 0);
    return static_cast<std::uint16_t>(sign | (floor + (is_up ? 1 : 0)));
  }
  magnitude += 0xfffu + (magnitude >> 13 & 1u);  // a carry into the exponent is what is meant
  return static_cast<std::uint16_t>(sign | (magnitude - (112u << 23)) >> 13);
}

// To nearest, ties to even; overflow becomes infinity; NaN stays a (quiet) NaN.
inline std::uint16_t Bfloat16FromFloat(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  bits += 0x7fffu + (bits >> 16 & 1u);
  return static_cast<std::uint16_t>(bits >> 16);
}

}  // namespace submix::model
