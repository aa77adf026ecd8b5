// What a group of integers says, read as kernels.h describes it.
#pragma once

#include <cstdint>

#include "submix/decode/kernels.h"
#include "submix/model/half_float.h"

namespace submix::decode {

// The weight of column `column` < kPanelColumns and input `input` < kGroupInputs.
template <int kBits>
float WeightAt(const IntegerGroup<kBits>& group, int input, int column) {
  constexpr int kInputsAWord = IntegerGroup<kBits>::kInputsAWord;
  const int vector = column / kVectorLength;
  const int lane = column % kVectorLength;
  const int shift = kBits * (2 * (input % kInputsAWord) + vector);
  const std::uint32_t highest = group.words[input / kInputsAWord][lane] << (32 - kBits - shift);
  const int integer = static_cast<std::int32_t>(highest) >> (32 - kBits);
  return model::FloatFromBfloat16(group.scales[PairIndex<Bfloat16>(vector, lane)]) *
         static_cast<float>(integer);
}

}  // namespace submix::decode
