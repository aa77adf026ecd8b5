#include "submix/accounting/random_stopping_cost.h"

#include <algorithm>
#include <cmath>

namespace submix::accounting {
namespace {

double Mean(const RandomStoppingSettings& settings, double public_share) {
  return (1 - public_share) * settings.private_perplexity +
         public_share * settings.public_perplexity;
}

// C B.
double Horizon(const RandomStoppingSettings& settings) {
  return std::round(settings.expansion * static_cast<double>(settings.answers));
}

}  // namespace

double RandomStoppingEpsilonAsPublished(double epsilon, const RandomStoppingSettings& settings) {
  return epsilon + std::log(Horizon(settings));
}

double RandomStoppingPerplexity(const RandomStoppingSettings& settings) {
  const auto answers = static_cast<double>(settings.answers);
  const double horizon = Horizon(settings);
  // Answer t comes after the stop with probability min(t / horizon, 1).
  const double within = std::min(answers, horizon);
  const double after = within * (within + 1) / (2 * horizon) + (answers - within);
  return Mean(settings, after / answers);
}

double RandomStoppingPerplexityAsPublished(const RandomStoppingSettings& settings) {
  return Mean(settings, 1 / (2 * settings.expansion));
}

}  // namespace submix::accounting
