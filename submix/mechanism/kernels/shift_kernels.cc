#include "submix/mechanism/kernels/shift_kernels.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "submix/base/instruction_sets.h"

namespace submix::mechanism {
namespace {

#define SUBMIX_KERNELS "submix/mechanism/kernels/shift_kernels.inc"
#include "submix/base/every_instruction_set.inc"

}  // namespace

void AddOrderTwo(const double* den, const double* shift, std::size_t count, DirectedLanes& lanes) {
  SUBMIX_CHOSEN(AddOrderTwo)(den, shift, count, lanes);
}

void AddIntegerOrder(int order, const double* den, const double* shift, std::size_t count,
                     DirectedLanes& lanes) {
  SUBMIX_CHOSEN(AddIntegerOrder)(order, den, shift, count, lanes);
}

void MaxRatio(const double* den, const double* shift, std::size_t count, DirectedLanes& lanes) {
  SUBMIX_CHOSEN(MaxRatio)(den, shift, count, lanes);
}

void AddMoments(const double* den, const MemberBlock& members, std::size_t count, int moments,
                int fall_moments, MomentLanes& lanes) {
  SUBMIX_CHOSEN(AddMoments)(den, members, count, moments, fall_moments, lanes);
}

std::int64_t FillFloors(const MemberBlock& members, double scale, std::size_t count, double* out) {
  return SUBMIX_CHOSEN(FillFloors)(members, scale, count, out);
}

void AddFloors(const MemberBlock& members, double scale, std::size_t count,
               std::uint64_t* weights) {
  SUBMIX_CHOSEN(AddFloors)(members, scale, count, weights);
}

void AddQuotients(const PairBlock& pair, const double* shares, std::size_t count,
                  QuotientLanes& lanes) {
  SUBMIX_CHOSEN(AddQuotients)(pair, shares, count, lanes);
}

}  // namespace submix::mechanism
