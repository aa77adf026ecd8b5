#include "submix/mechanism/baselines/declared_effect.h"

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
// Beyond it nothing is promised.
constexpr double kLargestEpsilon = 1e4;
constexpr int kRefinements = 8;

// Or need not: the public model was asked for.
StatusOr<bool> DoesSomething(const PartBudget& declared, const MechanismMaker& make) {
  SUBMIX_ASSIGN_OR_RETURN(const auto mechanism, make(declared.mechanism));
  return mechanism->name() == kPublicModelName ||
         LargestEffect(*mechanism, declared.mechanism,
                       accounting::FixedNats::RoundDown(declared.epsilon)) >= kLeastEffect;
}

bool IsUseful(const MechanismOptions& asked, AskedBudget budget, double epsilon,
              const MechanismMaker& make) {
  budget.epsilon = epsilon;
  const auto declared = DeclareBudget(asked, budget, make);
  if (!declared.ok()) return false;
  const auto does_something = DoesSomething(*declared, make);
  return does_something.ok() && *does_something;
}

// To two digits, or infinity.
double SmallestUsefulEpsilon(const MechanismOptions& asked, const AskedBudget& budget,
                             const MechanismMaker& make) {
  double low = budget.epsilon;
  double high = 2 * low;
  while (!IsUseful(asked, budget, high, make)) {
    if (high > kLargestEpsilon) return std::numeric_limits<double>::infinity();
    low = high;
    high *= 2;
  }
  for (int i = 0; i < kRefinements; ++i) {
    const double middle = std::sqrt(low * high);
    (IsUseful(asked, budget, middle, make) ? high : low) = middle;
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
  auto declared = DeclareBudget(asked, budget, make);
  if (!(budget.epsilon > 0)) return declared;
  std::string problem = "every answer would be the public model's to four digits";
  if (declared.status().code() == base::StatusCode::kInvalidArgument) {
    problem = declared.status().message();
  } else {
    SUBMIX_RETURN_IF_ERROR(declared.status());
    SUBMIX_ASSIGN_OR_RETURN(const bool does_something, DoesSomething(*declared, make));
    if (does_something) return declared;
  }
  const double least = SmallestUsefulEpsilon(asked, budget, make);
  if (!std::isfinite(least)) return base::InvalidArgumentError(problem);
  return base::InvalidArgumentError("epsilon " + base::NumberText(budget.epsilon) + ": " + problem +
                                    "; the smallest epsilon that does something here is " +
                                    base::NumberText(least, 2) + ", or ask for fewer answers");
}

}  // namespace submix::mechanism
