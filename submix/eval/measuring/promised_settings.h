// What the budget of a setting that is scored promises.
#pragma once

#include "submix/accounting/privacy_statement.h"
#include "submix/base/status.h"
#include "submix/eval/measuring/evaluation.h"
#include "submix/mechanism/declaring/user_budget.h"

namespace submix::eval {

// `asked` with the budget, order and mechanism's options that keep `promise` to one user over its
// tokens. Errors: mechanism::KeepUserPromise's.
base::StatusOr<EvaluationSetting> KeepPromise(const EvaluationSetting& asked,
                                              const mechanism::UserPromise& promise);

// Of all answers under the setting's budget. Errors: those of making the mechanism.
base::StatusOr<accounting::PrivacyStatement> StatementOf(const EvaluationSetting& setting,
                                                         double delta, bool public_keys);

// The setting that asks the public model alone, which costs nothing.
EvaluationSetting PublicModelAlone(int num_parts);

}  // namespace submix::eval
