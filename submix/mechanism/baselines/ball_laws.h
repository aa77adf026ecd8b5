// A part pulled towards the public model until it lies in a ball around it, as integers with sum
// kTotalWeight: m = lambda p + (1 - lambda) h0 with the largest lambda <= 1 that fits. Functions of
// the part, the public model and public constants alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "submix/base/status.h"
#include "submix/mechanism/part_predictions.h"

namespace submix::mechanism {

using LawWeights = std::vector<std::uint64_t>;  // [V], sum kTotalWeight, each >= 1

class BallLaws {
 public:
  // Errors: kInvalidArgument if the public pmf is not one. `predictions` must outlive the object.
  static base::StatusOr<BallLaws> Create(const PartPredictions& predictions);

  std::span<const double> public_pmf() const { return predictions_.public_pmf; }
  // Where the remainder of rounding goes.
  std::size_t top_token() const { return top_token_; }
  const LawWeights& public_law() const { return public_law_; }
  // The part's pmf; false if a member's is none.
  bool PartPmf(int part, std::vector<double>& pmf) const;
  // The max-divergence ball: every integer is within [e^-radius, e^radius] times the public one,
  // exactly. A part that is no pmf, or whose rounding does not fit, is the public law.
  LawWeights MaxBallLaw(int part, double radius) const;

 private:
  explicit BallLaws(const PartPredictions& predictions) : predictions_(predictions) {}

  PartPredictions predictions_;
  std::size_t top_token_ = 0;
  LawWeights public_law_;
};

}  // namespace submix::mechanism
