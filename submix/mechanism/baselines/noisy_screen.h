// The noisy comparison of AdaPMixED in the order in which it is sound
// (Theorem 8): the ensemble's mean on the K likeliest public tokens, plus noise, and only then
// clipped at 0, normalised and compared. On integers, so that the noise has exactly the accounted
// law:
//
//     z_i = round(lambda (p_i - h0) / (k u)) on K,   s = sum z_i + noise,
//
// with discrete Gaussian noise of deviation d = sigma / u units on each token, and for part i the
// charge a |z_i|^2 / (2 d^2). What is compared, D_a of normalised max(0, h0 + u s) to normalised
// h0, and whatever follows from it, is post-processing of s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/mechanism/mechanism.h"

namespace submix::mechanism {

// The public constants of a screen. Immutable value.
class NoisyScreen {
 public:
  // Reads num_parts, order and screen. Errors: kInvalidArgument for options out of range; order
  // infinity, at which Gaussian noise has no bound.
  // sigma is `deviation` units u, 2^20 unless a test wants a coarse grid; in [1, 2^20].
  static base::StatusOr<NoisyScreen> Create(const MechanismOptions& options,
                                            std::int64_t deviation = std::int64_t{1} << 20);

  // What one screen costs a part at most, whatever its members say. In nats.
  double WorstCaseNats() const;
  // As published: the order times (lambda / (k sigma))^2.
  double PublishedNats() const;

  // Adds fresh noise to each value.
  void AddNoise(base::RandomSource& random, std::span<std::int64_t> sum) const;

 private:
  friend class ScreenedQuery;
  NoisyScreen(const MechanismOptions& options, std::int64_t deviation);

  double ShiftNats(double squared_shift) const;

  ScreenOptions options_;
  divergence::RenyiOrder order_;
  std::int64_t deviation_;   // sigma / u
  double probability_unit_;  // u
  double shift_scale_;       // lambda / (k u)
};

// One query: the compared tokens, and every part's shift. Immutable value.
class ScreenedQuery {
 public:
  // A part with a value that is no probability on the compared tokens has shift 0.
  ScreenedQuery(const NoisyScreen& screen, const PartPredictions& predictions);

  // What the screen costs this part.
  accounting::FixedNats Charge(int part) const;
  // [K]: the sum of the shifts of the parts that take part.
  std::vector<std::int64_t> Sum(const std::vector<bool>& takes_part) const;
  // The divergence that the sum plus noise shows, in nats. A function of its argument and public
  // data alone.
  double Divergence(std::span<const std::int64_t> noisy_sum) const;
  // The same of the parts that take part, with fresh noise.
  double Compare(const std::vector<bool>& takes_part, base::RandomSource& random) const;

 private:
  NoisyScreen screen_;
  int num_parts_;
  std::vector<double> public_probabilities_;  // [K]
  std::vector<std::int64_t> shifts_;          // [parts, K]
};

// What comes before a token: it leads to the comparison, and that to the token's own proposal.
class ScreenProposal final : public Proposal {
 public:
  // Proposes the token by the divergence that those who paid have been shown. `remaining` is after
  // the screen's own charge.
  using ProposeToken = std::function<base::StatusOr<std::unique_ptr<Proposal>>(
      double divergence, const std::vector<bool>& paid,
      std::span<const accounting::FixedNats> remaining, base::ReleaseId release_id)>;

  ScreenProposal(base::ReleaseId release_id, std::vector<accounting::FixedNats> charges,
                 ScreenedQuery query, ProposeToken propose_token);

  bool leads_to_screen() const override { return true; }
  PrivateMixture Mix(const std::vector<bool>& paid, base::RandomSource& random) && override;
  PrivateScreen Screen(const std::vector<bool>& paid) && override;

 private:
  ScreenedQuery query_;
  ProposeToken propose_token_;
};

}  // namespace submix::mechanism
