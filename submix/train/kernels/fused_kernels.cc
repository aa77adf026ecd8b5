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

void GeluForward(const float* x, float* y, std::int64_t count) {
  SUBMIX_CHOSEN(GeluForward)(x, y, count);
}

void GeluBackward(const float* x, const float* grad_y, float* grad_x, std::int64_t count) {
  SUBMIX_CHOSEN(GeluBackward)(x, grad_y, grad_x, count);
}

void FloatsOfBfloat16(const std::uint16_t* x, float* y, std::int64_t count) {
  SUBMIX_CHOSEN(FloatsOfBfloat16)(x, y, count);
}

void Bfloat16OfFloats(const float* x, std::uint16_t* y, std::int64_t count) {
  SUBMIX_CHOSEN(Bfloat16OfFloats)(x, y, count);
}

}  // namespace submix::train
