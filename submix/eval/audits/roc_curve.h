// How well a score tells two worlds apart: true positive rate over false positive rate.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace submix::eval {

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
