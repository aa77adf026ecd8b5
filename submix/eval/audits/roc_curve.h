// How well a score tells two worlds apart: true positive rate over false positive rate. And how
// surely a rate is known from what was counted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace submix::eval {

// --- Exact (Clopper and Pearson) confidence bounds on a binomial's probability, from how often
// something happened

// `successes` of `trials` independent trials. Requires: 0 <= successes <= trials, trials >= 1.
struct BinomialCount {
  std::int64_t successes = 0;
  std::int64_t trials = 0;
};

// One-sided: whatever the true probability is, the bound is wrong with probability `error` at most.
// Requires: 0 < error < 1.
double LowerBound(const BinomialCount& count, double error);
double UpperBound(const BinomialCount& count, double error);

// Pr[Binomial(trials, probability) >= successes]. Any `successes`; 0 <= probability <= 1.
double BinomialUpperTail(std::int64_t successes, std::int64_t trials, double probability);

// --- The curve

struct RocPoint {
  double false_positives = 0;  // rates
  double true_positives = 0;
};

// Of all tests "score at least s". Immutable value.
class RocCurve {
 public:
  // Scores with the text (they should be high) and without it. Requires: neither empty, no NaN.
  RocCurve(std::span<const double> with, std::span<const double> without);

  // From (0, 0) to (1, 1), one for each score that occurs.
  const std::vector<RocPoint>& points() const { return points_; }
  // Between two points by tossing a coin between their tests.
  double TruePositivesAt(double false_positives) const;
  // A true positive rate that a test of at most this false positive rate surely has, but for the
  // error: counted where even the upper confidence bound of the false positive rate is within it.
  double SureTruePositivesAt(double false_positives, double error) const;
  double area() const { return area_; }
  // The largest difference of the rates.
  double advantage() const { return advantage_; }

 private:
  std::int64_t with_ = 0;  // scores
  std::int64_t without_ = 0;
  std::vector<RocPoint> points_;
  double area_ = 0;
  double advantage_ = 0;
};

}  // namespace submix::eval
