#include "submix/train/kernels/causal_attention_kernel.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "submix/base/instruction_sets.h"

namespace submix::train {
namespace {

#define SUBMIX_KERNELS "submix/train/kernels/causal_attention_kernel.inc"
#include "submix/base/every_instruction_set.inc"

}  // namespace

std::size_t CausalForwardScratch(std::int64_t positions, std::int64_t head_width) {
  return SUBMIX_CHOSEN(CausalForwardScratch)(positions, head_width);
}

std::size_t CausalBackwardScratch(std::int64_t positions, std::int64_t head_width) {
  return SUBMIX_CHOSEN(CausalBackwardScratch)(positions, head_width);
}

void CausalAttentionForward(const CausalHead& head, float* o, float* log_sums, float* scratch) {
  SUBMIX_CHOSEN(CausalAttentionForward)(head, o, log_sums, scratch);
}

void CausalAttentionBackward(const CausalHead& head, const CausalHeadGrads& grads, float* scratch) {
  SUBMIX_CHOSEN(CausalAttentionBackward)(head, grads, scratch);
}

}  // namespace submix::train
