#include "submix/accounting/calculators/step_budget.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "submix/accounting/calculators/rdp_accountant.h"
#include "submix/accounting/subsampled_gaussian_rdp.h"
#include "submix/base/check.h"
#include "submix/base/number_text.h"

namespace submix::accounting {
namespace {

constexpr int kMostHundredths = 100000;  // of a noise multiplier that is looked for

base::Status CheckNumbers(const SubsampledGaussianRun& step, const EpsilonBound& target) {
  const auto refuse = [](const std::string& what, const std::string& range, double found) {
    return base::InvalidArgumentError(what + ": expected " + range + ", found " +
                                      base::NumberText(found));
  };
  if (!(step.sampling_probability > 0 && step.sampling_probability <= 1)) {
    return refuse("sampling probability", "more than 0, at most 1", step.sampling_probability);
  }
  if (!(step.noise_multiplier > 0 && step.noise_multiplier <= 0x1p20)) {
    return refuse("noise multiplier", "more than 0, at most 2^20", step.noise_multiplier);
  }
  if (!(target.epsilon > 0 && target.epsilon < FixedNats::kLimitNats)) {
    return refuse("epsilon", "more than 0, below 8192", target.epsilon);
  }
  if (!(target.delta > 0 && target.delta < 1)) {
    return refuse("delta", "more than 0, below 1", target.delta);
  }
  return base::OkStatus();
}

// The least number of hundredths that pays, where more does if less does. None if kMostHundredths
// does not.
template <typename Pays>
std::optional<double> LeastNoise(const Pays& pays) {
  int too_little = 0;
  int enough = 100;  // most are near it
  while (!pays(enough / 100.0)) {
    if (enough == kMostHundredths) return std::nullopt;
    too_little = enough;
    enough = std::min(2 * enough, kMostHundredths);
  }
  while (enough - too_little > 1) {
    const int middle = too_little + (enough - too_little) / 2;
    (pays(middle / 100.0) ? enough : too_little) = middle;
  }
  return enough / 100.0;
}

base::Status NoNoisePays(std::int64_t steps, double epsilon) {
  return base::InvalidArgumentError("no noise makes " + std::to_string(steps) +
                                    " steps cost at most epsilon " + base::NumberText(epsilon) +
                                    "; take fewer");
}

}  // namespace

StepBudget::StepBudget(const SubsampledGaussianRun& step, const EpsilonBound& target)
    : step_(step), target_(target) {
  const PrivacyEvent once = {step, 1};
  one_step_ = CountRdp({&once, 1}, DefaultOrders());
}

base::StatusOr<StepBudget> StepBudget::Plan(const SubsampledGaussianRun& step,
                                            const EpsilonBound& target) {
  SUBMIX_RETURN_IF_ERROR(CheckNumbers(step, target));
  StepBudget plan(step, target);
  std::int64_t most = 0;
  for (const RdpBound& bound : plan.one_step_) {
    if (bound.order.is_infinite() || bound.order.value() < kLeastImprovedOrder) {
      continue;
    }
    SUBMIX_ASSIGN_OR_RETURN(const double nats,
                            RdpForEpsilon(bound.order, target, ConversionKind::kImproved));
    const FixedNats charge = FixedNats::RoundUp(bound.rdp);
    if (!(nats < FixedNats::kLimitNats) || !charge.is_payable() || charge.units() == 0) continue;
    const FixedNats budget = FixedNats::RoundDown(nats);
    if (budget.units() / charge.units() <= most) continue;
    most = budget.units() / charge.units();
    plan.binding_ = bound;
    plan.budget_ = budget;
    plan.charge_ = charge;
  }
  if (most == 0) {
    return base::InvalidArgumentError(
        "one step costs more than epsilon " + base::NumberText(target.epsilon) + " at delta " +
        base::NumberText(target.delta) +
        "; give more noise, a smaller share of the users a step, or a larger epsilon");
  }
  return plan;
}

std::vector<RdpBound> StepBudget::BoundsAfter(std::int64_t steps) const {
  SUBMIX_CHECK(steps >= 0, "a negative number of steps");
  std::vector<RdpBound> bounds = one_step_;
  for (RdpBound& bound : bounds) {
    bound.rdp = steps == 0 ? 0 : static_cast<double>(steps) * bound.rdp;
  }
  return bounds;
}

BestConversion StepBudget::EpsilonAfter(std::int64_t steps) const {
  if (steps == 0) return {binding_.order, 0, 0};
  const auto best = BestEpsilon(BoundsAfter(steps), target_.delta, ConversionKind::kImproved);
  SUBMIX_CHECK(best.ok(), "orders and delta were checked");
  return *best;
}

PrivacyStatement StepBudget::Statement(PrivacyUnit unit, std::int64_t steps) const {
  PrivacyStatement statement =
      StatementOfSteps(BoundsAfter(steps), binding_.order.value(), target_.delta);
  statement.mechanism = "dp-sgd";
  statement.unit = unit;
  statement.epsilon = FixedNats::FromUnits(steps * charge_.units());
  statement.proof = "Mironov, Talwar and Zhang 2019; docs/privacy.md, Theorem 14";
  return statement;
}

PrivacyStatement StatementOfSteps(std::vector<RdpBound> bounds, double order, double delta) {
  PrivacyStatement statement;
  statement.released = Released::kModel;
  statement.adjacency = Adjacency::kPresence;
  for (const RdpBound& bound : bounds) {
    if (bound.order.value() != order) continue;
    statement.order = bound.order;
    statement.epsilon = FixedNats::RoundUp(bound.rdp);
  }
  statement.worst_case = true;
  statement.proven = true;
  statement.delta = delta;
  statement.further_bounds = std::move(bounds);
  return statement;
}

base::StatusOr<double> NoiseForSteps(double sampling_probability, const EpsilonBound& target,
                                     std::int64_t steps) {
  SUBMIX_RETURN_IF_ERROR(CheckNumbers({sampling_probability, 1}, target));
  const std::optional<double> noise = LeastNoise([&](double multiplier) {
    const auto plan = StepBudget::Plan({sampling_probability, multiplier}, target);
    return plan.ok() && plan->most_steps() >= steps;
  });
  if (!noise) return NoNoisePays(steps, target.epsilon);
  return *noise;
}

base::StatusOr<double> NoiseForSteps(double sampling_probability, const RdpBound& most,
                                     std::int64_t steps) {
  if (!(sampling_probability > 0 && sampling_probability <= 1)) {
    return base::InvalidArgumentError(
        "sampling probability: expected more than 0, at most 1, found " +
        base::NumberText(sampling_probability));
  }
  if (most.order.is_infinite()) {
    return base::InvalidArgumentError("Gaussian noise costs infinity at order infinity");
  }
  const std::optional<double> noise = LeastNoise([&](double multiplier) {
    return Outward(static_cast<double>(steps) *
                   SubsampledGaussianRdp(sampling_probability, multiplier, most.order)) <= most.rdp;
  });
  if (!noise) return NoNoisePays(steps, most.rdp);
  return *noise;
}

}  // namespace submix::accounting
