// Predictions made up for tests: random pmfs, and an owner for views of them.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "submix/base/check.h"
#include "submix/base/random.h"
#include "submix/mechanism/part_predictions.h"

namespace submix::mechanism {

using Pmf = std::vector<double>;

// Uniform on (0, 1).
inline double NextUnit(base::RandomSource& random) {
  return (static_cast<double>(random.NextUint64() >> 11) + 0.5) * 0x1p-53;
}

// Proportional to u^sharpness with u uniform: 0 is the uniform pmf, 8 is nearly a point mass.
inline Pmf RandomPmf(base::RandomSource& random, std::size_t support_size, double sharpness) {
  Pmf pmf(support_size);
  double sum = 0;
  for (double& p : pmf) {
    p = std::pow(NextUnit(random), sharpness);
    sum += p;
  }
  for (double& p : pmf) p /= sum;
  return pmf;
}

// (1 - weight) a + weight b.
inline Pmf MixPmfs(const Pmf& a, const Pmf& b, double weight) {
  Pmf result(a.size());
  for (std::size_t x = 0; x < a.size(); ++x) result[x] = (1 - weight) * a[x] + weight * b[x];
  return result;
}

// For mechanisms that must not draw anything while they mix.
class NoRandomness final : public base::RandomSource {
 public:
  void Fill(std::span<std::byte>) override {
    SUBMIX_CHECK(false, "this mechanism has no randomness of its own");
  }
};

// Owns what a PartPredictions views.
class SimulatedPredictions {
 public:
  // members: one row a member, part * halves + half.
  SimulatedPredictions(Pmf public_pmf, const std::vector<Pmf>& members, int halves = 1)
      : public_pmf_(std::move(public_pmf)),
        num_parts_(static_cast<int>(members.size()) / halves),
        halves_(halves) {
    for (const Pmf& member : members) {
      member_pmfs_.insert(member_pmfs_.end(), member.begin(), member.end());
    }
  }

  PartPredictions view() const { return {public_pmf_, member_pmfs_, num_parts_, halves_}; }

 private:
  Pmf public_pmf_;
  Pmf member_pmfs_;
  int num_parts_;
  int halves_;
};

}  // namespace submix::mechanism
