// What steps of the Poisson-subsampled Gaussian mechanism cost, how many a target (epsilon, delta)
// buys, and what is booked for each: the plan of a private training, known before its first step.
// All of it is a function of public numbers. Torch-free.
#pragma once

#include <cstdint>
#include <vector>

#include "submix/accounting/calculators/privacy_event.h"
#include "submix/accounting/fixed_nats.h"
#include "submix/accounting/privacy_statement.h"
#include "submix/accounting/rdp_conversion.h"
#include "submix/base/status.h"

namespace submix::accounting {

// Immutable value.
class StepBudget {
 public:
  // The order that binds is the one at which the target buys most steps. Errors: kInvalidArgument
  // for numbers out of range, or if the target does not pay for a single step.
  static base::StatusOr<StepBudget> Plan(const SubsampledGaussianRun& step,
                                         const EpsilonBound& target);

  const SubsampledGaussianRun& step() const { return step_; }
  const EpsilonBound& target() const { return target_; }
  // The order that binds, and what a step costs there. In the account, in nats at that order: the
  // budget, rounded down, and a step's charge, rounded up.
  const RdpBound& binding() const { return binding_; }
  FixedNats budget() const { return budget_; }
  FixedNats charge() const { return charge_; }
  // How many charges the budget holds; at least 1.
  std::int64_t most_steps() const { return budget_.units() / charge_.units(); }

  // At the target's delta, after this many steps, by the best order: what `submix account dp-sgd`
  // says. Zero after none. At most the target's after most_steps(). Requires: steps >= 0.
  BestConversion EpsilonAfter(std::int64_t steps) const;
  // The guarantee after this many steps, at all orders at once.
  PrivacyStatement Statement(PrivacyUnit unit, std::int64_t steps) const;

 private:
  StepBudget(const SubsampledGaussianRun& step, const EpsilonBound& target);

  std::vector<RdpBound> BoundsAfter(std::int64_t steps) const;

  SubsampledGaussianRun step_;
  EpsilonBound target_;
  std::vector<RdpBound> one_step_;  // at DefaultOrders()
  RdpBound binding_;
  FixedNats budget_;
  FixedNats charge_;
};

// What steps with these bounds, one or more of them, promise to one unit that is present or absent.
// `order`: of the account's budget, one of the bounds'. Mechanism, unit and proof are the caller's.
PrivacyStatement StatementOfSteps(std::vector<RdpBound> bounds, double order, double delta);

// The least noise multiplier, of multiples of 0.01 up to 1000, with which the target pays for so
// many steps. Errors: kInvalidArgument for numbers out of range, or if none does.
base::StatusOr<double> NoiseForSteps(double sampling_probability, const EpsilonBound& target,
                                     std::int64_t steps);

// The same for a bound on the Rényi divergence after the steps. Errors: likewise; also for an
// infinite order.
base::StatusOr<double> NoiseForSteps(double sampling_probability, const RdpBound& most,
                                     std::int64_t steps);

}  // namespace submix::accounting
