#include "submix/eval/audits/claimed_bounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include <boost/math/tools/toms748_solve.hpp>

#include "submix/accounting/fixed_nats.h"
#include "submix/base/check.h"
#include "submix/divergence/renyi_divergence.h"

namespace submix::eval {
namespace {

using accounting::PrivacyStatement;
using accounting::PrivacyUnit;
using accounting::RdpBound;

// Steps of the curve over which area and advantage are taken.
constexpr int kSteps = 2000;

double MostTruePositives(const RdpBound& bound, double false_positives) {
  if (std::isinf(bound.rdp)) return 1;
  // Above 0 where the bound is broken; rises with the true positives. No more than 1, so that what
  // is infinite has a place on the line between two points.
  const auto excess = [&](double true_positives) {
    const std::array<double, 2> p = {true_positives, 1 - true_positives};
    const std::array<double, 2> q = {false_positives, 1 - false_positives};
    return std::min(divergence::SymmetricRenyiDivergence(p, q, bound.order) - bound.rdp, 1.0);
  };
  if (excess(1) <= 0) return 1;
  std::uintmax_t most_steps = 60;
  const auto is_close = [](double left, double right) { return right - left < 1e-15; };
  return boost::math::tools::toms748_solve(excess, false_positives, 1.0, is_close, most_steps)
      .second;
}

// For one user key nothing follows from what is not proven for every data set.
bool ClaimsAnything(const mechanism::Mechanism& mechanism, PrivacyUnit unit) {
  return mechanism.is_private() && (unit == PrivacyUnit::kPart || mechanism.is_sound());
}

}  // namespace

base::StatusOr<ClaimedBounds> ClaimOf(const mechanism::Mechanism& mechanism, double epsilon,
                                      PrivacyUnit unit, double delta) {
  if (unit != PrivacyUnit::kPart && unit != PrivacyUnit::kUserKey) {
    return base::InvalidArgumentError("mechanisms claim something for parts and user keys");
  }
  PrivacyStatement statement = mechanism.Statement(accounting::FixedNats::RoundDown(epsilon));
  ClaimedBounds claim;
  claim.epsilon = std::numeric_limits<double>::infinity();
  if (!ClaimsAnything(mechanism, unit)) {
    claim.labels = mechanism.is_private() ? "nothing is claimed for one user key: NOT proven"
                                          : "nothing is claimed: not private";
    return claim;
  }
  if (unit == PrivacyUnit::kPart) {
    claim.bounds = accounting::StatedBounds(statement);
  } else {
    claim.bounds = accounting::StatedUserLevelBounds(statement);
    statement.unit = unit;
    statement.adjacency = accounting::Adjacency::kReplace;
  }
  claim.labels = statement.Labels();
  claim.statement = statement;
  SUBMIX_ASSIGN_OR_RETURN(
      const auto best,
      accounting::BestEpsilon(claim.bounds, delta, accounting::ConversionKind::kImproved));
  claim.epsilon = best.epsilon;
  return claim;
}

double MostTruePositives(const ClaimedBounds& claim, double false_positives) {
  SUBMIX_CHECK(false_positives >= 0 && false_positives <= 1, "a rate is between 0 and 1");
  double most = 1;
  for (const RdpBound& bound : claim.bounds) {
    most = std::min(most, MostTruePositives(bound, false_positives));
  }
  return most;
}

double MostAdvantage(const ClaimedBounds& claim) {
  double most = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double at = static_cast<double>(i) / kSteps;
    most = std::max(most, MostTruePositives(claim, at) - at);
  }
  return most;
}

// Each strip by its right end: the curve rises.
double MostArea(const ClaimedBounds& claim) {
  double area = 0;
  for (int i = 1; i <= kSteps; ++i) {
    area += MostTruePositives(claim, static_cast<double>(i) / kSteps) / kSteps;
  }
  return area;
}

}  // namespace submix::eval
