#include "submix/eval/measuring/perplexity_runs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>

#include "submix/base/digest.h"
#include "submix/base/repeatable_random.h"

namespace submix::eval {

double PerplexityRuns::corpus() const {
  double log_sum = 0;
  for (const double perplexity : runs) log_sum += std::log(perplexity);
  return std::exp(log_sum / static_cast<double>(runs.size()));
}

double PerplexityRuns::block_mean() const {
  return std::accumulate(block_runs.begin(), block_runs.end(), 0.0) /
         static_cast<double>(block_runs.size());
}

double PerplexityRuns::deviation() const {
  const auto n = static_cast<double>(runs.size());
  const double mean = std::accumulate(runs.begin(), runs.end(), 0.0) / n;
  double squares = 0;
  for (const double run : runs) squares += (run - mean) * (run - mean);
  return std::sqrt(squares / (n - 1));
}

double PerplexityRuns::accuracy() const {
  return std::accumulate(accuracy_runs.begin(), accuracy_runs.end(), 0.0) /
         static_cast<double>(accuracy_runs.size());
}

namespace {

PerplexityRuns Resampled(const PerplexityRuns& perplexity, std::span<const std::size_t> picks) {
  PerplexityRuns resampled;
  for (const std::size_t pick : picks) resampled.runs.push_back(perplexity.runs[pick]);
  return resampled;
}

double Share(const PerplexityRuns& public_model, const PerplexityRuns& private_mechanism,
             const PerplexityRuns& fine_tuned) {
  const double gain = public_model.corpus() - fine_tuned.corpus();
  if (!(gain > 0)) return std::numeric_limits<double>::quiet_NaN();
  return (public_model.corpus() - private_mechanism.corpus()) / gain;
}

}  // namespace

KeptShare Kept(const PerplexityRuns& public_model, const PerplexityRuns& private_mechanism,
               const PerplexityRuns& fine_tuned) {
  constexpr std::size_t kResamples = 2000;
  const std::size_t runs = public_model.runs.size();
  const double share = Share(public_model, private_mechanism, fine_tuned);
  if (std::isnan(share)) return {share, share, share};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const KeptShare unbounded = {share, -kInfinity, kInfinity};
  if (runs < 2) return unbounded;
  const auto random = base::MakeRepeatableRandomSource(base::Sha256("submix kept share\n"));
  std::vector<double> shares;
  std::vector<std::size_t> picks(runs);
  for (std::size_t resample = 0; resample < kResamples; ++resample) {
    for (std::size_t& pick : picks) pick = random->NextUint64() % runs;
    shares.push_back(Share(Resampled(public_model, picks), Resampled(private_mechanism, picks),
                           Resampled(fine_tuned, picks)));
    if (std::isnan(shares.back())) return unbounded;
  }
  std::sort(shares.begin(), shares.end());
  return {share, shares[kResamples / 40], shares[kResamples - 1 - kResamples / 40]};
}

}  // namespace submix::eval
