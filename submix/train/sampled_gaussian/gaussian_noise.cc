#include "submix/train/sampled_gaussian/gaussian_noise.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <span>

namespace submix::train {
namespace {

static_assert(std::numeric_limits<long double>::digits >= 64, "Theorem 14 counts on 64 bits");
constexpr std::uint64_t kTopBit = std::uint64_t{1} << 63;
constexpr long double kTurn = 2 * std::numbers::pi_v<long double>;

}  // namespace

GaussianNoise::~GaussianNoise() {
  ::explicit_bzero(bits_.data(), sizeof bits_);
  ::explicit_bzero(&second_, sizeof second_);
}

std::uint64_t GaussianNoise::NextBits() {
  if (used_ == bits_.size()) {
    random_.Fill(std::as_writable_bytes(std::span(bits_)));
    used_ = 0;
  }
  return bits_[used_++];
}

long double GaussianNoise::Next() {
  if (has_second_) {
    has_second_ = false;
    return second_;
  }
  // u is uniform on (0, 1): below 1/2 it is x, above it is 1 - x, so that -log u is fine at both
  // ends.
  const std::uint64_t bits = NextBits();
  const auto high = static_cast<long double>(bits & ~kTopBit);
  const long double low = static_cast<long double>(NextBits()) + 0.5L;
  const long double x = (high + low * 0x1p-64L) * 0x1p-64L;
  const long double minus_log = (bits & kTopBit) != 0 ? -std::log(x) : -std::log1p(-x);
  const long double radius = std::sqrt(2 * minus_log);
  const long double angle = kTurn * 0x1p-64L * static_cast<long double>(NextBits());
  second_ = radius * std::sin(angle);
  has_second_ = true;
  return radius * std::cos(angle);
}

}  // namespace submix::train
