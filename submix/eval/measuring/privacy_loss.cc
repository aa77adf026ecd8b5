#include "submix/eval/measuring/privacy_loss.h"

#include "submix/accounting/rdp_conversion.h"
#include "submix/mechanism/research/adapmixed.h"

namespace submix::eval {

base::StatusOr<std::optional<PrivacyLoss>> PrivacyLossOf(const SettingResult& result) {
  const EvaluationSetting& setting = result.setting;
  if (setting.mechanism.name != mechanism::kAdaPMixedName) return std::optional<PrivacyLoss>();
  SUBMIX_ASSIGN_OR_RETURN(const auto screen, mechanism::NoisyScreen::Create(setting.mechanism));
  PrivacyLoss loss;
  loss.screen = static_cast<double>(setting.queries) * screen.PublishedNats();
  loss.answers = result.epsilon_spent_max - loss.screen;
  SUBMIX_ASSIGN_OR_RETURN(
      const double epsilon,
      accounting::EpsilonForDelta({setting.mechanism.order, result.epsilon_spent_max}, loss.delta,
                                  accounting::ConversionKind::kImproved));
  loss.conversion = epsilon - result.epsilon_spent_max;
  return std::optional(loss);
}

}  // namespace submix::eval
