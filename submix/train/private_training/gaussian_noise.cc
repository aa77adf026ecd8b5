#include "submix/train/private_training/gaussian_noise.h"

#include <cmath>
#include <cstring>
#include <numbers>
#include <span>

namespace submix::train {
namespace {

constexpr std::uint64_t kTopBit = std::uint64_t{1} << 63;

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

double GaussianNoise::Next() {
  if (has_second_) {
    has_second_ = false;
    return second_;
  }
  // u is uniform on (0, 1): below 1/2 it is x, above it is 1 - x, so that -log u is fine at both
  // ends. Small x get 64 bits more.
  const std::uint64_t bits = NextBits();
  const std::uint64_t high = bits & ~kTopBit;
  const double low = high >> 53 == 0 ? static_cast<double>(NextBits()) + 0.5 : 0x1p63;
  const double x = (static_cast<double>(high) + low * 0x1p-64) * 0x1p-64;
  const double minus_log = (bits & kTopBit) != 0 ? -std::log(x) : -std::log1p(-x);
  const double radius = std::sqrt(2 * minus_log);
  const double angle = 2 * std::numbers::pi * 0x1p-64 * static_cast<double>(NextBits());
  second_ = radius * std::sin(angle);
  has_second_ = true;
  return radius * std::cos(angle);
}

}  // namespace submix::train
