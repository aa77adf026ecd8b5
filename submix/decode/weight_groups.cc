#include "submix/decode/weight_groups.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace submix::decode {
namespace {

template <int kBits>
int Nearest(float value, float scale) {
  if (scale == 0) return 0;
  const float integer = std::nearbyint(value / scale);
  constexpr float kLeast = kBits == 8 ? -127 : -8;
  constexpr float kMost = kBits == 8 ? 127 : 7;
  return static_cast<int>(std::clamp(integer, kLeast, kMost));
}

template <int kBits>
double SquaredError(std::span<const float> values, float scale) {
  double error = 0;
  for (const float value : values) {
    const double difference = value - scale * static_cast<float>(Nearest<kBits>(value, scale));
    error += difference * difference;
  }
  return error;
}

// As it is stored.
float Rounded(float scale) { return model::FloatFromBfloat16(model::Bfloat16FromFloat(scale)); }

// Of the largest value of 4 bits as -8 (its sign is the scale's), or cut off for the others' sake.
template <int kBits>
float BestScale(std::span<const float> values) {
  float largest = 0;  // in size, with its sign
  for (const float value : values) {
    if (!std::isfinite(value)) return std::numeric_limits<float>::quiet_NaN();
    if (std::abs(value) > std::abs(largest)) largest = value;
  }
  if constexpr (kBits == 8) return Rounded(largest / 127);
  float best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (const float integer : {-9.0f, -8.5f, -8.0f, -7.5f, -7.0f, -6.5f, -6.0f}) {
    const float scale = Rounded(largest / integer);
    const double error = SquaredError<kBits>(values, scale);
    if (error < least) {
      least = error;
      best = scale;
    }
  }
  return best;
}

}  // namespace

template <int kBits>
void StoreColumn(std::span<const float> values, int column, IntegerGroup<kBits>& group) {
  const float scale = BestScale<kBits>(values);
  const int vector = column / kVectorLength;
  const int lane = column % kVectorLength;
  group.scales[PairIndex<Bfloat16>(vector, lane)] = model::Bfloat16FromFloat(scale);
  constexpr int kInputsAWord = IntegerGroup<kBits>::kInputsAWord;
  constexpr std::uint32_t kMask = (1u << kBits) - 1;
  for (int k = 0; k < kGroupInputs; ++k) {
    const auto i = static_cast<std::size_t>(k);
    const int integer = i < values.size() && scale == scale ? Nearest<kBits>(values[i], scale) : 0;
    std::uint32_t& word = group.words[k / kInputsAWord][lane];
    const int shift = kBits * (2 * (k % kInputsAWord) + vector);
    word &= ~(kMask << shift);
    word |= (static_cast<std::uint32_t>(integer) & kMask) << shift;
  }
}

template void StoreColumn(std::span<const float>, int, IntegerGroup<4>&);
template void StoreColumn(std::span<const float>, int, IntegerGroup<8>&);

}  // namespace submix::decode
