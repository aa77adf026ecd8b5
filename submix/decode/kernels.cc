#include "submix/decode/kernels.h"

#include <cmath>
#include <cstring>

namespace submix::decode {
namespace {

// clang-format off
namespace plain {
#define SUBMIX_KERNEL
#define SUBMIX_KERNEL_INLINE [[gnu::always_inline]] inline
#define SUBMIX_LANES 4
constexpr int kSums = 2;
constexpr int kPanelVectors = 1;
constexpr int kPanelRows = 2;
#include "submix/base/vector_math.inc"
#include "submix/decode/kernels.inc"
#undef SUBMIX_KERNEL
#undef SUBMIX_KERNEL_INLINE
#undef SUBMIX_LANES
}  // namespace plain

namespace avx2 {
#define SUBMIX_KERNEL __attribute__((target("arch=haswell")))
#define SUBMIX_KERNEL_INLINE __attribute__((target("arch=haswell"), always_inline)) inline
#define SUBMIX_LANES 8
constexpr int kSums = 6;
constexpr int kPanelVectors = 1;
constexpr int kPanelRows = 6;
#include "submix/base/vector_math.inc"
#include "submix/decode/kernels.inc"
#undef SUBMIX_KERNEL
#undef SUBMIX_KERNEL_INLINE
#undef SUBMIX_LANES
}  // namespace avx2

namespace avx512 {
#define SUBMIX_KERNEL __attribute__((target("arch=skylake-avx512")))
#define SUBMIX_KERNEL_INLINE __attribute__((target("arch=skylake-avx512"), always_inline)) inline
#define SUBMIX_LANES 16
constexpr int kSums = 16;
constexpr int kPanelVectors = 2;
constexpr int kPanelRows = 12;
#include "submix/base/vector_math.inc"
#include "submix/decode/kernels.inc"
#undef SUBMIX_KERNEL
#undef SUBMIX_KERNEL_INLINE
#undef SUBMIX_LANES
}  // namespace avx512
// clang-format on

template <typename Stored>
struct StoredKernels {
  decltype(&plain::MultiplyPanels<Stored>) multiply_panels;
  decltype(&plain::LowRankDown<Stored>) low_rank_down;
  decltype(&plain::LowRankUp<Stored>) low_rank_up;
  decltype(&plain::StoreKeyValue<Stored>) store_key_value;
  decltype(&plain::AttendToPages<Stored>) attend_to_pages;
};

struct KernelTable {
  StoredKernels<float> float32;
  StoredKernels<Bfloat16> bfloat16;
  decltype(&plain::NormalizeRow) normalize_row;
  decltype(&plain::GeluInPlace) gelu_in_place;
  decltype(&plain::AddInPlace) add_in_place;
};

#define SUBMIX_STORED_KERNELS(set, Stored)                                         \
  {                                                                                \
    set::MultiplyPanels<Stored>, set::LowRankDown<Stored>, set::LowRankUp<Stored>, \
        set::StoreKeyValue<Stored>, set::AttendToPages<Stored>                     \
  }
#define SUBMIX_KERNEL_TABLE(set)                                                                \
  {                                                                                             \
    SUBMIX_STORED_KERNELS(set, float), SUBMIX_STORED_KERNELS(set, Bfloat16), set::NormalizeRow, \
        set::GeluInPlace, set::AddInPlace                                                       \
  }
constexpr KernelTable kPlain = SUBMIX_KERNEL_TABLE(plain);
constexpr KernelTable kAvx2 = SUBMIX_KERNEL_TABLE(avx2);
constexpr KernelTable kAvx512 = SUBMIX_KERNEL_TABLE(avx512);

InstructionSet BestInstructionSet() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
    return InstructionSet::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return InstructionSet::kAvx2;
  }
  return InstructionSet::kPlain;
}

const KernelTable& TableOf(InstructionSet set) {
  switch (set) {
    case InstructionSet::kAvx512:
      return kAvx512;
    case InstructionSet::kAvx2:
      return kAvx2;
    case InstructionSet::kPlain:
      break;
  }
  return kPlain;
}

const KernelTable* kernels = &TableOf(BestInstructionSet());

const StoredKernels<float>& Kernels(const float*) { return kernels->float32; }
const StoredKernels<Bfloat16>& Kernels(const Bfloat16*) { return kernels->bfloat16; }

}  // namespace

InstructionSet LimitInstructionSet(InstructionSet most) {
  const InstructionSet best = BestInstructionSet();
  const InstructionSet chosen = static_cast<int>(most) < static_cast<int>(best) ? most : best;
  kernels = &TableOf(chosen);
  return chosen;
}

template <typename Stored>
void MultiplyPanels(const PanelOperands<Stored>& operands) {
  Kernels(operands.panels).multiply_panels(operands);
}
template void MultiplyPanels(const PanelOperands<float>&);
template void MultiplyPanels(const PanelOperands<Bfloat16>&);

void NormalizeRow(const float* x, const float* gain, const float* shift, float epsilon, int count,
                  float* out) {
  kernels->normalize_row(x, gain, shift, epsilon, count, out);
}

void GeluInPlace(float* x, int count) { kernels->gelu_in_place(x, count); }

void AddInPlace(float* y, const float* x, int count) { kernels->add_in_place(y, x, count); }

template <typename Stored>
void LowRankDown(const float* x, const Stored* a, int inputs, int rank, float* low) {
  Kernels(a).low_rank_down(x, a, inputs, rank, low);
}
template void LowRankDown(const float*, const float*, int, int, float*);
template void LowRankDown(const float*, const Bfloat16*, int, int, float*);

template <typename Stored>
void LowRankUp(const float* low, const Stored* b, std::size_t b_stride, int rank, int count,
               float* y) {
  Kernels(b).low_rank_up(low, b, b_stride, rank, count, y);
}
template void LowRankUp(const float*, const float*, std::size_t, int, int, float*);
template void LowRankUp(const float*, const Bfloat16*, std::size_t, int, int, float*);

template <typename Stored>
void StoreKeyValue(const HeadPage& shape, const float* key, const float* value, int slot,
                   Stored* page) {
  Kernels(page).store_key_value(shape, key, value, slot, page);
}
template void StoreKeyValue(const HeadPage&, const float*, const float*, int, float*);
template void StoreKeyValue(const HeadPage&, const float*, const float*, int, Bfloat16*);

std::size_t AttentionScratch(int length, const HeadPage& shape) {
  const int padded = (length + kPageTokens - 1) / kPageTokens * kPageTokens;
  return static_cast<std::size_t>(kMostQueries) *
         static_cast<std::size_t>(padded + shape.padded_width);
}

template <typename Stored>
void AttendToPages(const AttentionOperands<Stored>& operands) {
  Kernels(static_cast<const Stored*>(nullptr)).attend_to_pages(operands);
}
template void AttendToPages(const AttentionOperands<float>&);
template void AttendToPages(const AttentionOperands<Bfloat16>&);

}  // namespace submix::decode
