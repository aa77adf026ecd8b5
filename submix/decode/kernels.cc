#include "submix/decode/kernels.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "submix/base/instruction_sets.h"

namespace submix::decode {
namespace {

#define SUBMIX_KERNELS "submix/decode/kernels.inc"
#include "submix/base/every_instruction_set.inc"

}  // namespace

template <typename Stored>
void MultiplyPanels(const PanelOperands<Stored>& operands) {
  SUBMIX_CHOSEN(MultiplyPanels<Stored>)(operands);
}
template void MultiplyPanels(const PanelOperands<float>&);
template void MultiplyPanels(const PanelOperands<Bfloat16>&);
template void MultiplyPanels(const PanelOperands<IntegerGroup<4>>&);
template void MultiplyPanels(const PanelOperands<IntegerGroup<8>>&);

void NormalizeRow(const float* x, const float* gain, const float* shift, float epsilon, int count,
                  float* out) {
  SUBMIX_CHOSEN(NormalizeRow)(x, gain, shift, epsilon, count, out);
}

void RmsNormalizeRow(const float* x, const float* gain, float epsilon, int count, float* out) {
  SUBMIX_CHOSEN(RmsNormalizeRow)(x, gain, epsilon, count, out);
}

void GeluInPlace(float* x, int count) { SUBMIX_CHOSEN(GeluInPlace)(x, count); }

void GeluGate(const float* gate, const float* up, int count, float* out) {
  SUBMIX_CHOSEN(GeluGate)(gate, up, count, out);
}

void SiluGate(const float* gate, const float* up, int count, float* out) {
  SUBMIX_CHOSEN(SiluGate)(gate, up, count, out);
}

void SoftCapInPlace(float* x, float cap, int count) {
  SUBMIX_CHOSEN(SoftCapInPlace)(x, cap, count);
}

void RotateHead(float* head, const float* turn, int width) {
  SUBMIX_CHOSEN(RotateHead)(head, turn, width);
}

void AddInPlace(float* y, const float* x, int count) { SUBMIX_CHOSEN(AddInPlace)(y, x, count); }

template <typename Stored>
void LowRankDown(const float* x, const Stored* a, int inputs, int rank, float* low) {
  SUBMIX_CHOSEN(LowRankDown<Stored>)(x, a, inputs, rank, low);
}
template void LowRankDown(const float*, const float*, int, int, float*);
template void LowRankDown(const float*, const Bfloat16*, int, int, float*);

template <typename Stored>
void LowRankUp(const LowRankRows& rows, const Stored* b, std::size_t b_stride, int rank,
               int count) {
  SUBMIX_CHOSEN(LowRankUp<Stored>)(rows, b, b_stride, rank, count);
}
template void LowRankUp(const LowRankRows&, const float*, std::size_t, int, int);
template void LowRankUp(const LowRankRows&, const Bfloat16*, std::size_t, int, int);

template <typename Stored>
void StoreKeyValue(const HeadPage& shape, const float* key, const float* value, int slot,
                   Stored* page) {
  SUBMIX_CHOSEN(StoreKeyValue<Stored>)(shape, key, value, slot, page);
}
template void StoreKeyValue(const HeadPage&, const float*, const float*, int, float*);
template void StoreKeyValue(const HeadPage&, const float*, const float*, int, Bfloat16*);
template void StoreKeyValue(const HeadPage&, const float*, const float*, int, std::int8_t*);

std::size_t AttentionScratch(int length, const HeadPage& shape) {
  const int padded = (length + kPageTokens - 1) / kPageTokens * kPageTokens;
  return static_cast<std::size_t>(kMostQueries) *
         static_cast<std::size_t>(padded + shape.padded_width);
}

template <typename Stored>
void AttendToPages(const AttentionOperands<Stored>& operands) {
  SUBMIX_CHOSEN(AttendToPages<Stored>)(operands);
}
template void AttendToPages(const AttentionOperands<float>&);
template void AttendToPages(const AttentionOperands<Bfloat16>&);
template void AttendToPages(const AttentionOperands<std::int8_t>&);

}  // namespace submix::decode
