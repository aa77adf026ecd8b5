// The privacy loss distribution of a pair of laws (P, Q): the law of log(P/Q) under P, from which
//     delta(epsilon) = sup over events of P(E) - e^epsilon Q(E) = E (1 - e^(epsilon - loss))_+ .
// Independent pairs convolve. If (P, Q) dominates every pair of neighbours of a mechanism, whatever
// came before, the composition of its distribution dominates adaptive composition (Zhu, Dong and
// Wang 2022, Theorem 10): for a number of tokens that is fixed beforehand, not for filters.
//
// On a lattice of losses, in one of two directions, both of second order in the step:
//   kUpper  mass between two points is split over both so that P and Q keep their mass ("connect
//   the
//           dots", Doroshenko et al. 2022): another pair that dominates the true one.
//   kLower  mass is merged with its neighbours' until P/Q of the whole is a lattice point's: a
//           post-processing of the true pair, which the true pair dominates.
// Convolution is direct, not by FFT: sums of positive terms keep their relative precision far out
// in the tails, where an FFT has an absolute error of some 1e-15.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace submix::accounting {

// Probabilities of one event under both laws.
struct LossMass {
  double p = 0;
  double q = 0;
};

// The loss of one run: atoms and a continuous part.
struct PrivacyLoss {
  struct Atom {
    double loss = 0;
    double p = 0;
  };
  std::vector<Atom> atoms;
  // The continuous part's mass on low < loss <= high; infinite ends allowed. Null: there is none.
  std::function<LossMass(double low, double high)> continuous;
  // The continuous part, all but a negligible rest, lies in [-reach, reach].
  double reach = 0;
};

// Value; one thread at a time.
class PrivacyLossDistribution {
 public:
  enum class Bound { kUpper, kLower };

  // Requires: step > 0, atoms at multiples of it (to rounding).
  PrivacyLossDistribution(const PrivacyLoss& loss, double step, Bound bound);

  // `count` runs. Tails of less than 1e-25 go where the direction allows. Requires: count >= 1.
  PrivacyLossDistribution Power(std::int64_t count) const;

  // At most 1e-12 relative from rounding, else a bound in its direction. epsilon may be negative.
  double DeltaForEpsilon(double epsilon) const;

 private:
  void SetUpper(const PrivacyLoss& loss);
  void SetLower(const PrivacyLoss& loss);
  double PointLoss(std::int64_t index) const { return static_cast<double>(index) * step_; }
  double& At(std::int64_t index) { return probabilities_[index - first_]; }
  PrivacyLossDistribution Convolve(const PrivacyLossDistribution& other) const;
  void Trim();

  double step_;
  Bound bound_;
  std::int64_t first_ = 0;             // index of probabilities_[0]
  std::vector<double> probabilities_;  // under P, of the lattice points from first_ on
  double infinite_ = 0;                // of a loss that has no bound
};

}  // namespace submix::accounting
