#include "submix/accounting/calculators/bounded_range_composition.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "submix/base/check.h"

namespace submix::accounting {
namespace {

constexpr std::int64_t kMostTokens = 20000;
constexpr double kLargestRange = 100;  // nats; beyond it there is no privacy to report
// Lattice points in one range.
constexpr double kFewestPoints = 4;
constexpr double kMostPoints = 48;
// How many evaluations of a cell a composition may cost.
constexpr double kWork = 5e7;
// Standard deviations of the composed loss, at most range / 2 each, beyond which delta is not
// resolved but bounded.
constexpr double kReach = 12;
// What rounding takes off one token's value, times 1 - e^-range, by which differences of near
// numbers are divided: at most 2^-53 was seen.
constexpr double kRounding = 0x1p-51;

}  // namespace

// delta_n on the lattice of epsilon = i * step, range = m * step. Only epsilon >= 0 is stored: the
// family is symmetric, so that delta(-e) = 1 - exp(-e) + exp(-e) delta(e).
class BoundedRangeComposition::Recursion {
 public:
  Recursion(double range, int m, int num_points, bool upper)
      : m_(m),
        upper_(upper),
        step_(range / m),
        shrink_(std::exp(-range)),
        lost_(kRounding / -std::expm1(-range)),
        delta_(num_points, 0.0),  // delta_0
        extended_(num_points + 2 * m),
        slope_(extended_.size() - 1),
        intercept_(slope_.size()) {
    for (int i = 0; i <= m; ++i) {
      growth_.push_back(std::exp(i * step_));
      share_.push_back(std::expm1(i * step_ - range) / std::expm1(-range));
    }
  }

  void Step() {
    Extend();
    if (upper_) FitChords();
    for (int j = 0; j < static_cast<int>(delta_.size()); ++j) {
      delta_[j] = upper_ ? OverAllOffsets(j) + lost_ : OverLatticeOffsets(j);
    }
  }
  const std::vector<double>& delta() const { return delta_; }

 private:
  // extended_[m_ + i] = delta at i * step for -m <= i < num_points + m.
  void Extend() {
    const int num_points = static_cast<int>(delta_.size());
    std::copy(delta_.begin(), delta_.end(), extended_.begin() + m_);
    for (int i = 1; i <= m_; ++i) {
      const double e = i * step_;
      extended_[m_ - i] = -std::expm1(-e) + std::exp(-e) * delta_[i];
      // Beyond the window delta is no larger than at its end.
      extended_[m_ + num_points - 1 + i] = upper_ ? delta_.back() : 0;
    }
  }

  // Chords of delta as a function of y = e^(epsilon - first point): a convex function, which they
  // bound from above. Written with y relative to each cell's lower end: slope_ * (y / y_i) +
  // intercept_.
  void FitChords() {
    const double width = std::expm1(step_);
    for (std::size_t i = 0; i < slope_.size(); ++i) {
      slope_[i] = (extended_[i + 1] - extended_[i]) / width;
      intercept_[i] = extended_[i] - slope_[i];
    }
  }

  double AtOffset(int j, int i) const {
    const double* const here = extended_.data() + m_ + j - i;
    return share_[i] * here[0] + (1 - share_[i]) * here[m_];
  }

  double OverLatticeOffsets(int j) const {
    double largest = 0;
    for (int i = 0; i <= m_; ++i) largest = std::max(largest, AtOffset(j, i));
    return largest;
  }

  // On a cell t in [i, i + 1] * step both arguments stay within one chord each, and with x = e^t
  // the value is a_0 + a_1 / x + a_2 x, a_1, a_2 <= 0: concave, largest at sqrt(a_1 / a_2) or an
  // end.
  double OverAllOffsets(int j) const {
    double largest = AtOffset(j, m_);
    for (int i = 0; i < m_; ++i) {
      const int top = m_ + j - i - 1;      // chord of epsilon - t, above the point j - i - 1
      const int bottom = top + m_;         // chord of epsilon - t + range
      const double lift = growth_[i + 1];  // e^epsilon / e^(point j - i - 1)
      const double c = slope_[top] * lift, d = intercept_[top];
      const double a = slope_[bottom] * lift * shrink_, b = intercept_[bottom];
      const double a_1 = c - a;
      const double a_2 = shrink_ * (b - d);
      double value = AtOffset(j, i);
      const double x = std::sqrt(a_1 / a_2);
      if (x > growth_[i] && x < growth_[i + 1]) {
        value = (c * (1 / x - shrink_) + d * (1 - shrink_ * x) + a * (1 - 1 / x) +
                 b * shrink_ * (x - 1)) /
                (1 - shrink_);
      }
      largest = std::max(largest, value);
    }
    return largest;
  }

  const int m_;
  const bool upper_;
  const double step_;
  const double shrink_;
  const double lost_;  // by rounding, in a token's value
  std::vector<double> delta_;
  std::vector<double> extended_;
  std::vector<double> slope_;
  std::vector<double> intercept_;
  std::vector<double> growth_;  // e^(i step)
  std::vector<double> share_;   // p(i step)
};

base::StatusOr<BoundedRangeComposition> BoundedRangeComposition::Create(double range,
                                                                        std::int64_t count) {
  if (!(range > 0 && range <= kLargestRange) || count < 1) {
    return base::InvalidArgumentError(
        "composition: expected a range in (0, 100] and at least 1 token, found " +
        std::to_string(range) + " and " + std::to_string(count));
  }
  if (count > kMostTokens) {
    return base::UnimplementedError("exact composition: at most " + std::to_string(kMostTokens) +
                                    " tokens, found " + std::to_string(count));
  }
  const auto n = static_cast<double>(count);
  // In ranges, two at least: no loss exceeds n; its mean is at most n range / 8.
  const double window = std::min(n, n * range / 8 + kReach / 2 * std::sqrt(n)) + 1;
  const double points = std::sqrt(kWork / (n * window));
  const int m = static_cast<int>(std::clamp(points, kFewestPoints, kMostPoints));
  const int num_points = static_cast<int>(window * m) + 1;
  BoundedRangeComposition composition;
  composition.step_ = range / m;
  for (const bool upper : {false, true}) {
    Recursion recursion(range, m, num_points, upper);
    for (std::int64_t answer = 0; answer < count; ++answer) recursion.Step();
    (upper ? composition.upper_ : composition.lower_) = recursion.delta();
  }
  return composition;
}

Bracket BoundedRangeComposition::DeltaForEpsilon(double epsilon) const {
  SUBMIX_CHECK(epsilon >= 0, "a privacy profile from epsilon 0");
  const auto cell = static_cast<std::size_t>(std::min(epsilon / step_, 1e15));
  if (cell + 1 >= upper_.size()) return {0, upper_.back()};
  // Upper: the chord in e^epsilon. Lower: delta does not grow.
  const double low = static_cast<double>(cell) * step_;
  const double along = std::expm1(epsilon - low) / std::expm1(step_);
  return {lower_[cell + 1], upper_[cell] + along * (upper_[cell + 1] - upper_[cell])};
}

}  // namespace submix::accounting
