#include "submix/train/kernels/fused_kernels.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "submix/base/instruction_sets.h"

namespace submix::train {
namespace {

#define SUBMIX_KERNELS "submix/train/kernels/fused_kernels.inc"
#include "submix/base/every_instruction_set.inc"

}  // namespace

double SoftmaxCrossEntropyRow(float* logits, std::int64_t vocab_size, std::int64_t target,
                              float weight) {
  return SUBMIX_CHOSEN(SoftmaxCrossEntropyRow)(logits, vocab_size, target, weight);
}

void SoftCapForward(float* x, float cap, std::int64_t count) {
  SUBMIX_CHOSEN(SoftCapForward)(x, cap, count);
}

void SoftCapBackward(const float* y, float cap, float* grad, std::int64_t count) {
  SUBMIX_CHOSEN(SoftCapBackward)(y, cap, grad, count);
}

void GeluForward(const float* x, const float* factor, float* y, std::int64_t count) {
  SUBMIX_CHOSEN(GeluForward)(x, factor, y, count);
}

void SiluForward(const float* x, const float* factor, float* y, std::int64_t count) {
  SUBMIX_CHOSEN(SiluForward)(x, factor, y, count);
}

void GeluBackward(const float* x, const float* factor, const float* grad_y, float* grad_x,
                  float* grad_factor, std::int64_t count) {
  SUBMIX_CHOSEN(GeluBackward)(x, factor, grad_y, grad_x, grad_factor, count);
}

void SiluBackward(const float* x, const float* factor, const float* grad_y, float* grad_x,
                  float* grad_factor, std::int64_t count) {
  SUBMIX_CHOSEN(SiluBackward)(x, factor, grad_y, grad_x, grad_factor, count);
}

RowMoments NormForward(const RowNorm& norm, const float* x, float* y, std::int64_t count) {
  return SUBMIX_CHOSEN(NormForward)(norm, x, y, count);
}

void NormBackward(const RowNorm& norm, RowMoments moments, const float* x, const float* grad_y,
                  float* grad_x, std::int64_t count) {
  SUBMIX_CHOSEN(NormBackward)(norm, moments, x, grad_y, grad_x, count);
}

void NormWeightsBackward(RowMoments moments, const float* x, const float* grad_y, float* grad_gain,
                         float* grad_shift, std::int64_t count) {
  SUBMIX_CHOSEN(NormWeightsBackward)(moments, x, grad_y, grad_gain, grad_shift, count);
}

void TurnHeads(const float* x, const float* cosines, const float* sines, float direction,
               std::int64_t heads, std::int64_t half_width, float* y) {
  SUBMIX_CHOSEN(TurnHeads)(x, cosines, sines, direction, heads, half_width, y);
}

void AddFloats(const float* x, float* y, std::int64_t count) {
  SUBMIX_CHOSEN(AddFloats)(x, y, count);
}

void FloatsOfBfloat16(const std::uint16_t* x, float* y, std::int64_t count) {
  SUBMIX_CHOSEN(FloatsOfBfloat16)(x, y, count);
}

void Bfloat16OfFloats(const float* x, std::uint16_t* y, std::int64_t count) {
  SUBMIX_CHOSEN(Bfloat16OfFloats)(x, y, count);
}

}  // namespace submix::train
