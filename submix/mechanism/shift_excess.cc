#include "submix/mechanism/shift_excess.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "submix/base/check.h"
#include "submix/mechanism/kernels/ratio_kernels.h"

namespace submix::mechanism {
namespace {

constexpr double kLargestIntegerOrder = 64;

double LargestOrNan(const double (&lanes)[kLanes]) {
  return std::accumulate(lanes, lanes + kLanes, lanes[0], LargerOrNan);
}

}  // namespace

ShiftExcess::ShiftExcess(divergence::RenyiOrder order) : order_(order) {
  const double a = order.value();
  SUBMIX_CHECK(a >= 1, "the charges of Theorem 2 start at order 1");
  if (a >= 2 && a <= kLargestIntegerOrder && a == std::floor(a)) {
    integer_order_ = static_cast<int>(a);
  }
  if (!order.is_infinite()) kernel_.emplace(order);
}

void ShiftExcess::Add(const double* den, const double* shift, std::size_t count,
                      DirectedLanes& lanes) const {
  const std::size_t padded = PadToLanes(count);
  if (order_.is_infinite()) return MaxRatio(den, shift, padded, lanes);
  if (integer_order_ == 2) return AddOrderTwo(den, shift, padded, lanes);
  if (integer_order_ > 2) return AddIntegerOrder(integer_order_, den, shift, padded, lanes);
  std::array<double, kBlockTokens> moved_den;
  std::array<double, kBlockTokens> moved_back;
  for (std::size_t i = 0; i < count; ++i) {
    moved_den[i] = den[i] + shift[i];
    moved_back[i] = -shift[i];
  }
  lanes.forward[0] += kernel_->Expectation(std::span(den, count), std::span(shift, count));
  lanes.backward[0] +=
      kernel_->Expectation(std::span(moved_den).first(count), std::span(moved_back).first(count));
}

DirectedExcess ShiftExcess::Excess(const DirectedLanes& lanes, double total) const {
  if (order_.is_infinite()) {
    return {LargestOrNan(lanes.forward), LargestOrNan(lanes.backward)};
  }
  return {std::accumulate(lanes.forward, lanes.forward + kLanes, 0.0) / total,
          std::accumulate(lanes.backward, lanes.backward + kLanes, 0.0) / total};
}

DirectedExcess ShiftExcess::Of(std::span<const double> den, std::span<const double> shift,
                               double scale, double total) const {
  DirectedLanes lanes;
  std::array<double, kBlockTokens> scaled;
  std::array<double, kBlockTokens> last_den;
  for (std::size_t begin = 0; begin < den.size(); begin += kBlockTokens) {
    const std::size_t count = std::min(kBlockTokens, den.size() - begin);
    scaled.fill(0);
    AddScaled(shift.data() + begin, scale, count, scaled.data());
    const double* block = den.data() + begin;
    if (count < kBlockTokens) {
      last_den.fill(1);
      std::copy_n(block, count, last_den.begin());
      block = last_den.data();
    }
    Add(block, scaled.data(), count, lanes);
  }
  return Excess(lanes, total);
}

accounting::FixedNats ShiftExcess::ChargeOf(const DirectedExcess& excess,
                                            std::size_t support_size) const {
  const double outward = accounting::Outward(excess.larger(), RelativeError(support_size));
  return accounting::FixedNats::RoundUp(accounting::Outward(Nats(outward)));
}

double ShiftExcess::Nats(double excess) const {
  if (std::isnan(excess)) return std::numeric_limits<double>::infinity();
  if (order_.is_infinite()) return std::log1p(excess);
  return kernel_->DivergenceFromExpectation(excess);
}

double ShiftExcess::FromNats(double nats) const {
  if (order_.is_one()) return nats;
  return order_.is_infinite() ? std::expm1(nats) : std::expm1((order_.value() - 1) * nats);
}

}  // namespace submix::mechanism
