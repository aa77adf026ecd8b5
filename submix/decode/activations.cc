// Rows of activations as the products read them. Compiled without fused products, so that every
// processor rounds to the same integers.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "submix/base/instruction_sets.h"
#include "submix/decode/matrix_product.h"
#include "submix/model/half_float.h"

namespace submix::decode {
namespace {

constexpr std::size_t kRowAlignment = 64;
constexpr std::uint32_t kMagnitudeMask = 0x7fffffff;
constexpr std::uint32_t kInfinityBits = 0x7f800000;

constexpr float kLargestInteger = 127;
// Rows that are smaller than this become zeros; 127 divided by it is finite.
constexpr float kLeastMagnitude = 0x1p-100f;
// Added to |x| <= 127 it leaves x, rounded to the nearest even integer, in the last bits.
constexpr float kRoundToInteger = 0x1.8p23f;

std::size_t BytesOf(ActivationFormat format) {
  switch (format) {
    case ActivationFormat::kFloat32:
      return 4;
    case ActivationFormat::kBfloat16:
      return 2;
    case ActivationFormat::kInt8:
      return 1;
  }
  return 0;
}

void ToBfloat16(const float* row, std::size_t count, std::uint16_t* out) {
  base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    for (std::size_t i = 0; i < count; ++i) out[i] = model::Bfloat16FromFloat(row[i]);
  });
}

// The bits of the largest |x|; more than infinity's if there is a NaN.
std::uint32_t LargestMagnitude(const float* row, std::size_t count) {
  return base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    std::uint32_t largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      largest = std::max(largest, std::bit_cast<std::uint32_t>(row[i]) & kMagnitudeMask);
    }
    return largest;
  });
}

void ToInt8(const float* row, std::size_t count, float factor, std::int8_t* out) {
  base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    for (std::size_t i = 0; i < count; ++i) {
      const float shifted = row[i] * factor + kRoundToInteger;
      out[i] = static_cast<std::int8_t>(std::bit_cast<std::int32_t>(shifted));
    }
  });
}

// A row that is not finite becomes zeros with the scale NaN, which every result is multiplied by.
void StoreInt8(std::span<const float> row, std::int8_t* out, float* scale) {
  const std::uint32_t bits = LargestMagnitude(row.data(), row.size());
  if (bits >= kInfinityBits) {
    std::fill_n(out, row.size(), std::int8_t{0});
    *scale = std::numeric_limits<float>::quiet_NaN();
    return;
  }
  const float largest = std::max(std::bit_cast<float>(bits), kLeastMagnitude);
  *scale = largest / kLargestInteger;
  ToInt8(row.data(), row.size(), kLargestInteger / largest, out);
}

}  // namespace

std::size_t ActivationRowBytes(ActivationFormat format, int count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * BytesOf(format);
  return (bytes + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
}

void StoreActivations(ActivationFormat format, std::span<const float> row, std::byte* out,
                      float* scale) {
  switch (format) {
    case ActivationFormat::kFloat32:
      std::memcpy(out, row.data(), row.size_bytes());
      break;
    case ActivationFormat::kBfloat16:
      ToBfloat16(row.data(), row.size(), reinterpret_cast<std::uint16_t*>(out));
      break;
    case ActivationFormat::kInt8:
      StoreInt8(row, reinterpret_cast<std::int8_t*>(out), scale);
      break;
  }
  const std::size_t written = row.size() * BytesOf(format);
  const std::size_t padded = ActivationRowBytes(format, static_cast<int>(row.size()));
  std::memset(out + written, 0, padded - written);
}

}  // namespace submix::decode
