// The inner loops of products whose weights and activations are both narrow: words of 32 bits that
// hold two bfloat16 or four bytes, which the processor multiplies and adds up at once (AVX-512
// VNNI, AVX-512 bf16, AMX); and integers of 4 bits by bytes. Every result is summed in one order
// that depends on its own inputs alone, never on how many rows are computed together; sums of bytes
// are exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "submix/decode/kernels.h"

namespace submix::decode {

// The words of a panel's kPanelColumns columns lie as [words of a column][2][16 columns], which are
// also the tiles of AMX. Words of a row come in whole tiles: lines of 64 bytes.
inline constexpr int kNarrowStep = 16;

// Behind a panel of bytes.
struct ByteColumns {
  float scales[kPanelColumns];  // weight = scale * byte
  // 128 times the sum of the column's bytes: VNNI multiplies by activations that have 128 added.
  std::int32_t excess[kPanelColumns];
};

// `Sum` says what is multiplied: bfloat16 into float, bytes into std::int32_t.
template <typename Sum>
constexpr std::size_t NarrowPanelBytes(int words) {
  return static_cast<std::size_t>(words) * kPanelColumns * sizeof(std::uint32_t) +
         (std::is_integral_v<Sum> ? sizeof(ByteColumns) : 0);
}

// Sums of bytes are multiplied by the scales of row and column.
struct NarrowRows : ResultRows {
  // [rows], x_stride bytes apart, 64-byte aligned, zeros behind the last input.
  const std::byte* x = nullptr;
  std::size_t x_stride = 0;
  const float* x_scales = nullptr;  // [rows], of bytes; null: none
};
template <typename Sum>
struct NarrowOperands : NarrowRows {
  // For all columns, NarrowPanelBytes(words) each, 64-byte aligned.
  const std::byte* panels = nullptr;
  int words = 0;  // of a row, a multiple of kNarrowStep
};
// Requires: kBf16 for float, kVnni for std::int32_t (base/instruction_sets.h), or beyond.
template <typename Sum>
void MultiplyNarrow(const NarrowOperands<Sum>& operands);

// Activations are bytes. Each group is summed exactly, the groups in float32.
struct GroupOperands : NarrowRows {
  const IntegerGroup<4>* groups = nullptr;  // [panels][groups_a_panel]
  int groups_a_panel = 0;                   // x has bytes for all
};
// Requires: kVnni or beyond.
void MultiplyGroups(const GroupOperands& operands);

}  // namespace submix::decode
