#include "submix/accounting/calculators/pmixed_target.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "submix/accounting/bisection.h"
#include "submix/accounting/log_space.h"
#include "submix/accounting/poisson_amplification.h"
#include "submix/accounting/rdp_conversion.h"
#include "submix/base/number_text.h"

namespace submix::accounting {

std::vector<double> PmixedBetas(double rdp, int num_parts, double sampling_probability, int order) {
  std::vector<double> betas;
  for (int drawn = 0; drawn <= num_parts; ++drawn) {
    const auto fits = [&](double beta) {
      return PmixedTokenRdp(beta, std::max(drawn, 1), sampling_probability, order) <= rdp;
    };
    betas.push_back(FindBoundary(0, 1, fits).holds);
  }
  return betas;
}

double PmixedSubsetRdp(double beta, int num_drawn, int order) {
  if (!(beta >= 0) || order < 2) return kInfinity;
  if (num_drawn <= 1) return beta * order;
  const double loss = (order - 1) * 4 * beta * order;
  return RdpFromLogExcess(LogExpm1(loss) - std::log(num_drawn), order);
}

double PmixedTokenRdp(double beta, int num_drawn, double sampling_probability, int order) {
  return PoissonAmplifiedRdp([&](int k) { return PmixedSubsetRdp(beta, num_drawn, k); },
                             sampling_probability, order);
}

base::StatusOr<PmixedTargets> PmixedTarget(const PmixedSettings& settings) {
  if (settings.answers < 1 || settings.num_parts < 1 || settings.order < 2) {
    return base::InvalidArgumentError(
        "PMixED: expected at least 1 token, 1 part and an order of 2 or more, found " +
        std::to_string(settings.answers) + ", " + std::to_string(settings.num_parts) + " and " +
        std::to_string(settings.order));
  }
  if (!(settings.sampling_probability > 0 && settings.sampling_probability <= 1)) {
    return base::InvalidArgumentError("sampling probability: expected a number in (0, 1], found " +
                                      base::NumberText(settings.sampling_probability));
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto order, divergence::RenyiOrder::Create(settings.order));
  SUBMIX_ASSIGN_OR_RETURN(const double rdp, RdpForEpsilon(order, {settings.epsilon, settings.delta},
                                                          ConversionKind::kImproved));
  if (std::isinf(rdp)) return base::InvalidArgumentError("PMixED: expected a finite epsilon");
  PmixedTargets targets;
  targets.rdp_per_answer = rdp / static_cast<double>(settings.answers);
  targets.beta = PmixedBetas(targets.rdp_per_answer, settings.num_parts,
                             settings.sampling_probability, settings.order);
  return targets;
}

}  // namespace submix::accounting
