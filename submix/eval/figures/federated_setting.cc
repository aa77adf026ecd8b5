#include "submix/eval/figures/federated_setting.h"

#include <cstdio>

#include "submix/accounting/privacy_statement.h"
#include "submix/base/check.h"
#include "submix/eval/pages/html_page.h"

namespace submix::eval {

std::optional<FederatedSetting> EarlierSetting(const FederatedSetting& setting) {
  if (!(setting.earlier_clip_norm > 0)) return std::nullopt;
  FederatedSetting earlier = setting;
  earlier.clip_norm = setting.earlier_clip_norm;
  earlier.rounds = setting.earlier_rounds;
  earlier.earlier_clip_norm = 0;
  earlier.earlier_rounds = 0;
  return earlier;
}

double NoiseDeviation(const FederatedSetting& setting) {
  if (setting.noise_multiplier > 0) {
    return setting.noise_multiplier * setting.clip_norm / setting.expected_users;
  }
  return setting.simulated_users > 0 ? setting.clip_norm / setting.simulated_users : 0;
}

std::string ClippingAndNoise(const FederatedSetting& setting) {
  char noise[32];
  std::snprintf(noise, sizeof noise, "%.2g", NoiseDeviation(setting));
  return "S = " + ShortNumber(setting.clip_norm) + ", noise " + noise;
}

const FederatedEvaluation& EvaluationAt(const FederatedRun& run, double round) {
  SUBMIX_CHECK(!run.evaluations.empty(), "a training that was never looked at");
  const FederatedEvaluation* last = &run.evaluations.front();
  for (const FederatedEvaluation& evaluation : run.evaluations) {
    if (static_cast<double>(evaluation.round) <= round) last = &evaluation;
  }
  return *last;
}

std::string PromiseOf(const FederatedSetting& setting, const FederatedRun& run) {
  if (run.promise.has_value()) {
    return "(" + accounting::FormatCost(run.promise->epsilon) + ", " +
           ShortNumber(run.promise->delta) +
           ")-DP for each user, present or absent; worst case, proven";
  }
  if (setting.fixed_size_sample) {
    return "nothing: a sample of fixed size, which the accountant has no price for (research)";
  }
  if (setting.simulated_users > 0) {
    return "nothing: the noise of more users a round, simulated (research)";
  }
  return "nothing: no noise";
}

}  // namespace submix::eval
