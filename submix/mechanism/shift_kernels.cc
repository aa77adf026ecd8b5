// The kernels of shift_kernels.h, compiled for three instruction sets and chosen at start-up.
// (target_clones cannot do it: gcc splits vectors before it clones.)
#include "submix/mechanism/shift_kernels.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace submix::mechanism {
namespace {

namespace plain {
constexpr std::size_t kWidth = 2;
#define SUBMIX_TARGET
#include "submix/mechanism/shift_kernels.inc"
#undef SUBMIX_TARGET
}  // namespace plain

#if defined(__x86_64__)
namespace avx2 {
constexpr std::size_t kWidth = 4;
#define SUBMIX_TARGET __attribute__((target("avx2")))
#include "submix/mechanism/shift_kernels.inc"
#undef SUBMIX_TARGET
}  // namespace avx2

namespace avx512 {
constexpr std::size_t kWidth = 8;
#define SUBMIX_TARGET __attribute__((target("avx512f")))
#include "submix/mechanism/shift_kernels.inc"
#undef SUBMIX_TARGET
}  // namespace avx512
#endif

struct KernelTable {
  decltype(&plain::AddOrderTwo) add_order_two;
  decltype(&plain::AddIntegerOrder) add_integer_order;
  decltype(&plain::MaxRatio) max_ratio;
  decltype(&plain::AddMoments) add_moments;
  decltype(&plain::FillFloors) fill_floors;
  decltype(&plain::AddFloors) add_floors;
  decltype(&plain::AddQuotients) add_quotients;
};

KernelTable ChooseKernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    return {avx512::AddOrderTwo, avx512::AddIntegerOrder, avx512::MaxRatio,    avx512::AddMoments,
            avx512::FillFloors,  avx512::AddFloors,       avx512::AddQuotients};
  }
  if (__builtin_cpu_supports("avx2")) {
    return {avx2::AddOrderTwo, avx2::AddIntegerOrder, avx2::MaxRatio,    avx2::AddMoments,
            avx2::FillFloors,  avx2::AddFloors,       avx2::AddQuotients};
  }
#endif
  return {plain::AddOrderTwo, plain::AddIntegerOrder, plain::MaxRatio,    plain::AddMoments,
          plain::FillFloors,  plain::AddFloors,       plain::AddQuotients};
}

const KernelTable& Kernels() {
  static const KernelTable kernels = ChooseKernels();
  return kernels;
}

}  // namespace

void AddOrderTwo(const double* den, const double* shift, std::size_t count, DirectedLanes& lanes) {
  Kernels().add_order_two(den, shift, count, lanes);
}

void AddIntegerOrder(int order, const double* den, const double* shift, std::size_t count,
                     DirectedLanes& lanes) {
  Kernels().add_integer_order(order, den, shift, count, lanes);
}

void MaxRatio(const double* den, const double* shift, std::size_t count, DirectedLanes& lanes) {
  Kernels().max_ratio(den, shift, count, lanes);
}

void AddMoments(const double* den, const MemberBlock& members, std::size_t count, int moments,
                int fall_moments, MomentLanes& lanes) {
  Kernels().add_moments(den, members, count, moments, fall_moments, lanes);
}

std::int64_t FillFloors(const MemberBlock& members, double scale, std::size_t count, double* out) {
  return Kernels().fill_floors(members, scale, count, out);
}

void AddFloors(const MemberBlock& members, double scale, std::size_t count,
               std::uint64_t* weights) {
  Kernels().add_floors(members, scale, count, weights);
}

void AddQuotients(const PairBlock& pair, const double* shares, std::size_t count,
                  QuotientLanes& lanes) {
  Kernels().add_quotients(pair, shares, count, lanes);
}

}  // namespace submix::mechanism
