// Whether a declaration does anything: some are kept by answering as the public model does, and
// cannot be taken back. No soundness depends on it.
#pragma once

#include "submix/base/status.h"
#include "submix/mechanism/declaring/user_budget.h"
#include "submix/mechanism/mechanism_maker.h"

namespace submix::mechanism {

// How far, as a log ratio, the ensemble can move the public model's probability of a token at a
// full budget: of two tokens that are equally likely, when all members are sure of one.
// 0 if the budget backs no token; infinity where that is not told beforehand (a screen, noise).
double LargestEffect(const Mechanism& mechanism, const MechanismOptions& options,
                     accounting::FixedNats budget);

// DeclareBudget, for a deployment. Errors: also kInvalidArgument for a declaration whose answers
// are the public model's to four digits, naming the smallest epsilon that does something.
base::StatusOr<PartBudget> DeclareUsefulBudget(const MechanismOptions& asked,
                                               const AskedBudget& budget,
                                               const MechanismMaker& make);

}  // namespace submix::mechanism
