// GNMax (Papernot et al. 2018): every part votes for its likeliest token, Gaussian noise is added
// to the counts, the token with most noisy votes is the answer. The noise is not drawn: the
// answer's law is computed (noisy_votes.h), made whole numbers and sampled, which is the same.
//
// Every token costs every part a constant: a part's vote moves the counts by at most sqrt(2),
// which costs a / s^2 at order a, and what computing the law may be off (Theorem 11). The deviation
// s follows from beta. Charges that look at the votes are research (research/counted_gnmax.h).
//
// Numbers: with q the law, a token weighs w = F + round(2^61 q), F public. That is the law of an
// answer that is replaced by a uniform one with a small public probability, which takes nothing
// away from privacy; its logarithms are off by at most kLawRounding.
#pragma once

#include <cstddef>

#include "submix/mechanism/mechanism.h"

namespace submix::mechanism {

inline constexpr std::string_view kGnmaxName = "gnmax";

// F. At most 2^20 tokens, so that all weights together stay below 2^62.
inline constexpr std::uint64_t kUniformVoteWeight = std::uint64_t{1} << 28;
// The largest |log| of the ratio of the sampled law to the one that is proven private: each weight
// is off by half a unit, and by 1e-12 and 1e-20 in q, of at least F, and their sum likewise.
inline constexpr double kLawRounding = 0x1p-27;

// What one token costs at this order at most: the least b / s^2 + (2b-1)/(b-1) kLawRounding over
// some b >= order (docs/privacy.md, Theorem 11). Infinity at order infinity. Rounded outward.
double GnmaxTokenNats(double noise_scale, divergence::RenyiOrder order);

using Votes = std::vector<std::size_t>;  // [K]: the token of each part

// The law of a token, [V] whole numbers. Requires: votes below support_size <= 2^20.
std::vector<std::uint64_t> LawOfVotes(const Votes& votes, std::size_t support_size,
                                      double noise_scale);

// s for a charge of at most the options' target_leakage, whatever their accounting. Errors: as
// Gnmax::Create.
base::StatusOr<double> GnmaxNoiseScale(const MechanismOptions& options);

class Gnmax : public Mechanism {
 public:
  // Reads num_parts, order (finite, >= 1), target_leakage and accounting. Errors: kInvalidArgument,
  // also for a charge that looks at the votes and for a target leakage that the rounding alone
  // exceeds.
  static base::StatusOr<std::unique_ptr<Gnmax>> Create(const MechanismOptions& options);

  std::string_view name() const override { return kGnmaxName; }
  bool is_sound() const override { return true; }
  bool has_constant_charge() const override { return true; }
  // s, in votes.
  double noise_scale() const { return noise_scale_; }
  accounting::PrivacyStatement Statement(accounting::FixedNats budget) const override;
  // Ignores `remaining`. A part that is null, or sits out, votes as the public model does. Errors:
  // also kInvalidArgument for a support of more than 2^20 tokens.
  base::StatusOr<std::unique_ptr<Proposal>> Propose(
      const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
      base::ReleaseId release_id) const override;

 protected:
  Gnmax(const MechanismOptions& options, double noise_scale);
  const MechanismOptions& options() const { return options_; }

 private:
  // [K]: what this token costs each part.
  virtual std::vector<accounting::FixedNats> Charges(const Votes& votes, std::size_t public_vote,
                                                     std::size_t support_size) const;

  MechanismOptions options_;
  double noise_scale_;
  accounting::FixedNats charge_;  // the worst case
};

}  // namespace submix::mechanism
