// How far one part moves the law, as the sums behind its charge (Theorem 2): for a law den and a
// shift d of it,
//     forward  = sum den g(d / den),   backward = sum (den + d) g(-d / (den + d)),
// both divided by the total of den; at order infinity the largest d / den and -d / (den + d). This
// is the excess x of a divergence: log1p(x) / (order - 1); x itself at order 1; log1p(x) at order
// infinity.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>

#include "submix/accounting/fixed_nats.h"
#include "submix/divergence/divergence_kernel.h"
#include "submix/divergence/renyi_order.h"
#include "submix/mechanism/kernels/shift_kernels.h"

namespace submix::mechanism {

// NaN if either is: std::max would hide the second, and a charge that is no number must be paid by
// nobody.
inline double LargerOrNan(double a, double b) { return std::isnan(a) || a >= b ? a : b; }

struct DirectedExcess {
  double forward = 0;
  double backward = 0;
  // NaN if either is.
  double larger() const { return LargerOrNan(forward, backward); }
};

// The kernel of one order. Orders 2 .. 64 take vectorised sums, others divergence's kernel.
// Immutable; thread-safe.
class ShiftExcess {
 public:
  // Requires: order >= 1.
  explicit ShiftExcess(divergence::RenyiOrder order);

  divergence::RenyiOrder order() const { return order_; }

  // Takes in one block. Requires: count <= kBlockTokens; arrays padded to whole lanes (den with 1,
  // shift with 0); den > 0 and den + shift > 0.
  void Add(const double* den, const double* shift, std::size_t count, DirectedLanes& lanes) const;
  // The excess of what was taken in, for laws that sum to `total`.
  DirectedExcess Excess(const DirectedLanes& lanes, double total) const;

  // The excess of a whole law: of `den + scale * shift` from `den`, both with sum `total`.
  // Requires: equal sizes, den > 0 and den + scale * shift > 0.
  DirectedExcess Of(std::span<const double> den, std::span<const double> shift, double scale,
                    double total) const;

  // The charge of an excess over `support_size` tokens: the larger direction, with the error of the
  // sums and of the last operations on top, rounded up. Unpayable if either direction is NaN.
  accounting::FixedNats ChargeOf(const DirectedExcess& excess, std::size_t support_size) const;

  // Relative error of a sum over `support_size` tokens, in either direction, with room to spare:
  // each term is within 1e-13 (divergence's kernel, the powers of shift_kernels.h), a sum of
  // non-negative terms adds at most V 2^-53.
  static double RelativeError(std::size_t support_size) {
    return 1e-12 + static_cast<double>(support_size) * 0x1p-52;
  }

  // The divergence in nats whose excess this is. NaN and infinity give infinity.
  double Nats(double excess) const;
  // Its inverse: the largest excess within `nats` >= 0.
  double FromNats(double nats) const;

 private:
  divergence::RenyiOrder order_;
  int integer_order_ = 0;                               // 0: not one of the vectorised
  std::optional<divergence::DivergenceKernel> kernel_;  // none at order infinity
};

}  // namespace submix::mechanism
