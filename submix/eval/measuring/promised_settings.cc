#include "submix/eval/measuring/promised_settings.h"

#include "submix/mechanism/baselines/public_model.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix::eval {

base::StatusOr<EvaluationSetting> KeepPromise(const EvaluationSetting& asked,
                                              const mechanism::UserPromise& promise) {
  SUBMIX_ASSIGN_OR_RETURN(const mechanism::PartBudget kept,
                          mechanism::KeepUserPromise(asked.mechanism, asked.tokens, promise,
                                                     mechanism::MakeAnyMechanism));
  EvaluationSetting setting = asked;
  setting.mechanism = kept.mechanism;
  setting.epsilon = kept.epsilon;
  return setting;
}

base::StatusOr<accounting::PrivacyStatement> StatementOf(const EvaluationSetting& setting,
                                                         double delta, bool public_keys) {
  SUBMIX_ASSIGN_OR_RETURN(const auto mechanism, mechanism::MakeAnyMechanism(setting.mechanism));
  accounting::PrivacyStatement statement =
      mechanism->Statement(accounting::FixedNats::RoundDown(setting.epsilon));
  statement.delta = delta;
  statement.public_keys = public_keys;
  return statement;
}

EvaluationSetting PublicModelAlone(int num_parts) {
  EvaluationSetting setting;
  setting.mechanism.name = mechanism::kPublicModelName;
  setting.mechanism.num_parts = num_parts;
  setting.mechanism.target_leakage = 1;  // checked, but never spent
  setting.epsilon = 0;
  return setting;
}

}  // namespace submix::eval
