// How well a score tells two worlds apart: true positive rate over false positive rate.
#pragma once

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
  double area() const { return area_; }
  // The largest difference of the rates.
  double advantage() const { return advantage_; }

 private:
  std::vector<RocPoint> points_;
  double area_ = 0;
  double advantage_ = 0;
};

}  // namespace submix::eval
