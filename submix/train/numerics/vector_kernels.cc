// The kernels of fused_kernels.h and causal_attention_kernel.h, compiled for three instruction sets
// and chosen at start-up. (target_clones cannot do it: gcc splits generic vectors before it
// clones.)
#include <cmath>
#include <cstdint>
#include <cstring>

#include "submix/train/numerics/causal_attention_kernel.h"
#include "submix/train/numerics/fused_kernels.h"

#define SUBMIX_KERNEL_INLINE [[gnu::always_inline]] inline

namespace submix::train {
namespace {

// vector_math.inc comes first.
// clang-format off
namespace plain {
#define SUBMIX_LANES 4
#include "submix/base/vector_math.inc"
#include "submix/train/numerics/fused_kernels.inc"
#include "submix/train/numerics/causal_attention_kernel.inc"
}  // namespace plain

#pragma GCC push_options
#pragma GCC target("arch=haswell")
namespace avx2 {
#undef SUBMIX_LANES
#define SUBMIX_LANES 8
#include "submix/base/vector_math.inc"
#include "submix/train/numerics/fused_kernels.inc"
#include "submix/train/numerics/causal_attention_kernel.inc"
}  // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("arch=skylake-avx512")
namespace avx512 {
#undef SUBMIX_LANES
#define SUBMIX_LANES 16
#include "submix/base/vector_math.inc"
#include "submix/train/numerics/fused_kernels.inc"
#include "submix/train/numerics/causal_attention_kernel.inc"
}  // namespace avx512
#pragma GCC pop_options

// clang-format on

struct KernelTable {
  decltype(&plain::SoftmaxCrossEntropyRow) softmax_cross_entropy_row;
  decltype(&plain::GeluForward) gelu_forward;
  decltype(&plain::GeluBackward) gelu_backward;
  decltype(&plain::FloatsOfBfloat16) floats_of_bfloat16;
  decltype(&plain::Bfloat16OfFloats) bfloat16_of_floats;
  decltype(&plain::AttendCached) attend_cached;
  decltype(&plain::AddLowRank) add_low_rank;
  decltype(&plain::CausalForwardScratch) causal_forward_scratch;
  decltype(&plain::CausalBackwardScratch) causal_backward_scratch;
  decltype(&plain::CausalAttentionForward) causal_attention_forward;
  decltype(&plain::CausalAttentionBackward) causal_attention_backward;
};

#define SUBMIX_KERNEL_TABLE(set)                                                              \
  {                                                                                           \
    set::SoftmaxCrossEntropyRow, set::GeluForward, set::GeluBackward, set::FloatsOfBfloat16,  \
        set::Bfloat16OfFloats, set::AttendCached, set::AddLowRank, set::CausalForwardScratch, \
        set::CausalBackwardScratch, set::CausalAttentionForward, set::CausalAttentionBackward \
  }

constexpr KernelTable kPlain = SUBMIX_KERNEL_TABLE(plain);
constexpr KernelTable kAvx2 = SUBMIX_KERNEL_TABLE(avx2);
constexpr KernelTable kAvx512 = SUBMIX_KERNEL_TABLE(avx512);

const KernelTable& ChooseKernels() {
  if (__builtin_cpu_supports("x86-64-v4")) return kAvx512;
  if (__builtin_cpu_supports("x86-64-v3")) return kAvx2;
  return kPlain;
}

const KernelTable& Kernels() {
  static const KernelTable& kernels = ChooseKernels();
  return kernels;
}

}  // namespace

double SoftmaxCrossEntropyRow(float* logits, std::int64_t vocab_size, std::int64_t target,
                              float weight) {
  return Kernels().softmax_cross_entropy_row(logits, vocab_size, target, weight);
}

void GeluForward(const float* x, float* y, std::int64_t count) {
  Kernels().gelu_forward(x, y, count);
}

void GeluBackward(const float* x, const float* grad_y, float* grad_x, std::int64_t count) {
  Kernels().gelu_backward(x, grad_y, grad_x, count);
}

void FloatsOfBfloat16(const std::uint16_t* x, float* y, std::int64_t count) {
  Kernels().floats_of_bfloat16(x, y, count);
}

void Bfloat16OfFloats(const float* x, std::uint16_t* y, std::int64_t count) {
  Kernels().bfloat16_of_floats(x, y, count);
}

void AttendCached(const CachedHead& head, float* scores, float* output) {
  Kernels().attend_cached(head, scores, output);
}

void AddLowRank(const LowRankShape& shape, const float* x, const float* a, const float* b,
                float* y) {
  Kernels().add_low_rank(shape, x, a, b, y);
}

std::size_t CausalForwardScratch(std::int64_t positions, std::int64_t head_width) {
  return Kernels().causal_forward_scratch(positions, head_width);
}

std::size_t CausalBackwardScratch(std::int64_t positions, std::int64_t head_width) {
  return Kernels().causal_backward_scratch(positions, head_width);
}

void CausalAttentionForward(const CausalHead& head, float* o, float* log_sums, float* scratch) {
  Kernels().causal_attention_forward(head, o, log_sums, scratch);
}

void CausalAttentionBackward(const CausalHead& head, const CausalHeadGrads& grads, float* scratch) {
  Kernels().causal_attention_backward(head, grads, scratch);
}

}  // namespace submix::train
