#include "submix/mechanism/declaring/declared_effect.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "submix/base/number_text.h"
#include "submix/base/random.h"
#include "submix/mechanism/baselines/public_model.h"
#include "submix/mechanism/operator_view.h"

namespace submix::mechanism {
namespace {

using base::StatusOr;

// Below it answers are the public model's to four digits.
constexpr double kLeastEffect = 1e-4;
constexpr int kRefinements = 8;

// The declaration; kInvalidArgument, and why, if it does nothing.
StatusOr<PartBudget> DeclareEffective(const MechanismOptions& asked, const AskedBudget& budget,
                                      const MechanismMaker& make) {
  SUBMIX_ASSIGN_OR_RETURN(PartBudget declared, DeclareBudget(asked, budget, make));
  SUBMIX_ASSIGN_OR_RETURN(const auto mechanism, make(declared.mechanism));
  if (mechanism->name() == kPublicModelName ||
      LargestEffect(*mechanism, declared.mechanism,
                    accounting::FixedNats::RoundDown(declared.epsilon)) >= kLeastEffect) {
    return declared;
  }
  return base::InvalidArgumentError(asked.name +
                                    ": every token would be the public model's to four digits");
}

// To two digits, or infinity.
double SmallestUsefulEpsilon(const MechanismOptions& asked, const AskedBudget& budget,
                             const MechanismMaker& make) {
  const auto does_something = [&](double epsilon) {
    AskedBudget with_epsilon = budget;
    with_epsilon.epsilon = epsilon;
    return DeclareEffective(asked, with_epsilon, make).ok();
  };
  double low = budget.epsilon;
  double high = 2 * low;
  while (!does_something(high)) {
    if (high >= accounting::FixedNats::kLimitNats) return std::numeric_limits<double>::infinity();
    low = high;
    high *= 2;
  }
  for (int i = 0; i < kRefinements; ++i) {
    const double middle = std::sqrt(low * high);
    (does_something(middle) ? high : low) = middle;
  }
  const double digit = std::pow(10, std::floor(std::log10(high)) - 1);
  return std::ceil(high / digit) * digit;
}

}  // namespace

double LargestEffect(const Mechanism& mechanism, const MechanismOptions& options,
                     accounting::FixedNats budget) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  const std::vector<double> public_pmf = {.5, .5};
  const int halves = mechanism.halves();
  std::vector<double> members;
  for (int row = 0; row < options.num_parts * halves; ++row) {
    members.insert(members.end(), {1 - 0x1p-20, 0x1p-20});
  }
  const std::vector<accounting::FixedNats> remaining(static_cast<std::size_t>(options.num_parts),
                                                     budget);
  auto proposal =
      mechanism.Propose({public_pmf, members, options.num_parts, halves}, remaining, {});
  if (!proposal.ok() || (*proposal)->leads_to_screen()) return kUnknown;
  std::vector<bool> paid;
  for (const accounting::FixedNats charge : (*proposal)->charges()) {
    paid.push_back(charge.is_payable() && charge <= budget);
  }
  const auto random = base::MakeSystemRandomSource();
  const PrivateMixture mixture = std::move(**proposal).Mix(paid, *random);
  return std::abs(
      std::log(OperatorView::Probability(mixture, 0) / OperatorView::Probability(mixture, 1)));
}

StatusOr<PartBudget> DeclareUsefulBudget(const MechanismOptions& asked, const AskedBudget& budget,
                                         const MechanismMaker& make) {
  if (!(budget.epsilon > 0)) return DeclareBudget(asked, budget, make);
  auto declared = DeclareEffective(asked, budget, make);
  if (declared.status().code() != base::StatusCode::kInvalidArgument) return declared;
  const double least = SmallestUsefulEpsilon(asked, budget, make);
  if (!std::isfinite(least)) return declared;
  return base::InvalidArgumentError("epsilon " + base::NumberText(budget.epsilon) + ": " +
                                    declared.status().message() +
                                    "; the smallest epsilon that does something here is " +
                                    base::NumberText(least, 2) + ", or ask for fewer tokens");
}

}  // namespace submix::mechanism
