// The inner loops of decoding, once an instruction set (base/instruction_sets.h). `Stored` is what
// weights, adapters and caches are kept in: float, or Bfloat16 (its bits), weights also integers in
// groups, caches also bytes; all arithmetic is float32. Every result is summed in one fixed order
// that depends on its own inputs alone, never on how many rows are computed together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "submix/model/half_float.h"

namespace submix::decode {

using Bfloat16 = std::uint16_t;

// To nearest, ties to even; NaN stays NaN.
template <typename Stored>
Stored ToStored(float value) {
  if constexpr (sizeof(Stored) == sizeof(float)) {
    return value;
  } else {
    return model::Bfloat16FromFloat(value);
  }
}

// Stored numbers come in pairs of vectors of 16, so that two vectors of bfloat16 are one load and
// one operation each to widen: element `lane` of vector `which` of a pair is at PairIndex. All
// instruction sets have the same layouts.
inline constexpr int kVectorLength = 16;
inline constexpr int kPairLength = 2 * kVectorLength;
template <typename Stored>
constexpr std::size_t PairIndex(int which, int lane) {
  const bool is_interleaved = sizeof(Stored) == 2;
  return static_cast<std::size_t>(is_interleaved ? 2 * lane + which : kVectorLength * which + lane);
}
constexpr int PairsFor(int count) { return (count + kPairLength - 1) / kPairLength; }

// Columns of a panel: a pair an input.
inline constexpr int kPanelColumns = kPairLength;
// Tokens of a page of keys and values.
inline constexpr int kPageTokens = kVectorLength;
// Queries that AttendToPages takes at a time.
inline constexpr int kMostQueries = 4;

// Inputs of a panel whose weights have one scale a column: w = scale q, with an integer q of kBits
// bits, 4 or 8.
inline constexpr int kGroupInputs = 32;
template <int kBits>
struct IntegerGroup {
  // Inputs whose integers, of both vectors of a panel, share a lane of 32 bits.
  static constexpr int kInputsAWord = 32 / (2 * kBits);

  Bfloat16 scales[kPanelColumns];  // a pair
  // Lane by lane, in two's complement: from the lowest bits on the first input's column of the
  // first vector, of the second vector, then the next input's.
  std::uint32_t words[kGroupInputs / kInputsAWord][kVectorLength];
};

constexpr int GroupsFor(int inputs) { return (inputs + kGroupInputs - 1) / kGroupInputs; }

// What a panel is an array of: pairs of columns, an input each, or groups of inputs.
template <typename Stored>
constexpr std::size_t PanelBytes(int inputs) {
  if constexpr (std::is_class_v<Stored>) {
    return static_cast<std::size_t>(GroupsFor(inputs)) * sizeof(Stored);
  }
  return static_cast<std::size_t>(inputs) * kPanelColumns * sizeof(Stored);
}

// Where results[m, n] = bias[n] + sum_k x[m, k] W[k, n] go, for n < columns.
struct ResultRows {
  int rows = 0;
  const float* bias = nullptr;  // [columns], or null
  float* results = nullptr;     // rows results_stride apart
  std::size_t results_stride = 0;
  int columns = 0;
};
struct PanelRows : ResultRows {
  const float* x = nullptr;  // [rows, inputs], rows x_stride apart
  std::size_t x_stride = 0;
  int inputs = 0;
};
template <typename Stored>
struct PanelOperands : PanelRows {
  const Stored* panels = nullptr;  // PairsFor(columns), PanelBytes(inputs) each
};
template <typename Stored>
void MultiplyPanels(const PanelOperands<Stored>& operands);

// out = (x - mean) / sqrt(variance + epsilon) * gain + shift.
void NormalizeRow(const float* x, const float* gain, const float* shift, float epsilon, int count,
                  float* out);
// out = x / sqrt(mean of x^2 + epsilon) * gain. `out` may be x.
void RmsNormalizeRow(const float* x, const float* gain, float epsilon, int count, float* out);
// x = gelu_new(x), GPT-2's tanh form.
void GeluInPlace(float* x, int count);
// out = gelu_new(gate) * up, and out = silu(gate) * up with silu(x) = x / (1 + e^-x).
void GeluGate(const float* gate, const float* up, int count, float* out);
void SiluGate(const float* gate, const float* up, int count, float* out);
// x = cap tanh(x / cap). Requires: cap > 0.
void SoftCapInPlace(float* x, float cap, int count);
// Turns element i of the head's first half with element i of its second half: `turn` has [width /
// 2] cosines, then as many sines. Requires: an even width.
void RotateHead(float* head, const float* turn, int width);
// y += x.
void AddInPlace(float* y, const float* x, int count);

// low [rank] = x A^T, with A [rank, PairsFor(inputs)] pairs, zeros behind the last input.
template <typename Stored>
void LowRankDown(const float* x, const Stored* a, int inputs, int rank, float* low);
// y [rows, count] += low [rows, rank] B, with B [rank, PairsFor(count)] pairs, rows b_stride apart.
struct LowRankRows {
  const float* low = nullptr;
  std::size_t low_stride = 0;
  float* y = nullptr;
  std::size_t y_stride = 0;
  int count = 0;
};
template <typename Stored>
void LowRankUp(const LowRankRows& rows, const Stored* b, std::size_t b_stride, int rank, int count);

// A page of one head holds 16 tokens: keys in pairs (two elements of the head, a lane a token), for
// the width rounded up to 4, then values [8, padded_width / 16] pairs (two tokens, a lane an
// element). padded_width is the width rounded up to 16.
//
// In bytes (std::int8_t) a lane holds four vectors' numbers instead of a pair's, and a key is s q,
// with integers |q| <= 127 and a scale s of its own, its largest number / 127; a value the same.
// Behind the numbers stand the page's scales / 2^24: [16] floats of keys, [16] of values. So no
// number of a key k is off by more than max |k| / 254, and of a value v by max |v| / 254 (or 1e-20:
// what is smaller is zero): a score moves by at most d = scale max |k| sum |q| / 254, an outcome of
// attention by at most max |v| (e^(2 d) - 1 + 1 / 254), each maximum over the tokens that are seen.
// Numbers that are not finite make the token's scale NaN.
struct HeadPage {
  int width = 0;
  int padded_width = 0;
  int key_numbers() const { return (width + 3) / 4 * 2 * kPairLength; }
  int numbers() const { return key_numbers() + kPageTokens * padded_width; }
  std::size_t bytes(std::size_t number_bytes) const {
    const std::size_t scales = number_bytes == 1 ? 2 * kPageTokens * sizeof(float) : 0;
    return static_cast<std::size_t>(numbers()) * number_bytes + scales;
  }
};
// Writes the key and the value of one token into slot `slot` < 16 of a page.
template <typename Stored>
void StoreKeyValue(const HeadPage& shape, const float* key, const float* value, int slot,
                   Stored* page);

// Causal attention of queries of one row over the pages of one head of keys: of neighbouring
// tokens, or of several heads of one token that share the keys. Query i sees the last `window` of
// `first_length + i * tokens_a_query` tokens.
template <typename Stored>
struct AttentionOperands {
  const float* queries = nullptr;  // [count, width], rows query_stride apart
  std::size_t query_stride = 0;
  int count = 0;  // 1 .. kMostQueries
  int first_length = 0;
  int tokens_a_query = 1;  // 0: all of one token
  int window = 0;          // 0: all
  // The first so many tokens are seen by none but themselves, and cost what those cost that are
  // seen. Their values must be finite.
  int hidden = 0;
  float scale = 1;
  float soft_cap = 0;  // of the scaled products; 0: none
  HeadPage shape;
  const std::byte* const* pages = nullptr;  // of the sequence
  std::size_t page_offset = 0;              // bytes from there to this head's page
  float* out = nullptr;                     // [count, width], rows out_stride apart
  std::size_t out_stride = 0;
  float* scratch = nullptr;  // AttentionScratch floats
};
// For contexts of up to `length` tokens.
std::size_t AttentionScratch(int length, const HeadPage& shape);
template <typename Stored>
void AttendToPages(const AttentionOperands<Stored>& operands);

}  // namespace submix::decode
