// DP decoding (Majmudar et al. 2022) over the ensemble: the mean of all members, mixed with the
// uniform pmf on the public support of V tokens.
//
//     q' = l q + (1 - l) / V,   q the mean of the members
//
// l is the largest weight at which any two q, however different, cost at most beta: a function of
// V, the order and beta alone. So a charge covers a change of all private text at once.
//
// Numbers: every part contributes whole numbers w_i >= 0 with sum P, and every token has u besides,
// P and u public. The law is exactly (sum w_i + u) / (k P + V u), and the worst two laws are point
// masses of w: the odds of one token change from u to k P + u.
#pragma once

#include <cstddef>
#include <cstdint>

#include "submix/mechanism/mechanism.h"

namespace submix::mechanism {

inline constexpr std::string_view kDpDecodingName = "dp-decoding";

// D_order, in nats, of the two laws that give one of `support_size` tokens `odds` times the weight
// of every other, to different tokens: the worst case, the same in both directions. With
// e = log(odds) and a the order, log1p(4 e^(e/2) sinh(a e/2) sinh((a-1) e/2) / (V-1+odds)) / (a-1).
// Relative error below 1e-12. Requires: odds >= 1 and finite, support_size >= 1, order >= 1.
double DpDecodingNats(double odds, std::size_t support_size, divergence::RenyiOrder order);

class DpDecoding final : public Mechanism {
 public:
  // The largest support that is answered, in tokens; statements hold for all up to it.
  static constexpr std::size_t kLargestSupport = std::size_t{1} << 20;

  // Reads num_parts, order (>= 1) and target_leakage. Errors: kInvalidArgument.
  static base::StatusOr<std::unique_ptr<DpDecoding>> Create(const MechanismOptions& options);

  std::string_view name() const override { return kDpDecodingName; }
  bool is_sound() const override { return true; }
  bool has_constant_charge() const override { return true; }
  // With the bounds that budget / beta tokens have at other orders, for any supports.
  accounting::PrivacyStatement Statement(accounting::FixedNats budget) const override;
  // Ignores `remaining`: every token costs beta. Errors: also kInvalidArgument for a support of
  // more than kLargestSupport tokens.
  base::StatusOr<std::unique_ptr<Proposal>> Propose(
      const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
      base::ReleaseId release_id) const override;

 private:
  // P and u of one support size.
  struct Weights {
    std::int64_t part_total;
    std::uint64_t uniform;
  };

  explicit DpDecoding(const MechanismOptions& options);

  Weights WeightsFor(std::size_t support_size) const;
  // An upper bound of what a token may cost at another order, whatever its support.
  double LargestNats(divergence::RenyiOrder order) const;

  MechanismOptions options_;
  accounting::FixedNats charge_;  // beta
};

}  // namespace submix::mechanism
