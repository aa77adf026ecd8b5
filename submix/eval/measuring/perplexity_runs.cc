#include "submix/eval/measuring/perplexity_runs.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>

#include "submix/base/check.h"
#include "submix/base/digest.h"
#include "submix/base/repeatable_random.h"

namespace submix::eval {
namespace {

double Mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

double PerplexityRuns::corpus() const {
  double log_sum = 0;
  for (const double perplexity : runs) log_sum += std::log(perplexity);
  return std::exp(log_sum / static_cast<double>(runs.size()));
}

double PerplexityRuns::block_mean() const { return Mean(block_runs); }

double PerplexityRuns::deviation() const {
  const auto n = static_cast<double>(runs.size());
  const double mean = Mean(runs);
  double squares = 0;
  for (const double run : runs) squares += (run - mean) * (run - mean);
  return std::sqrt(squares / (n - 1));
}

double PerplexityRuns::accuracy() const { return Mean(accuracy_runs); }

double PerplexityRuns::probability() const { return Mean(probability_runs); }

void AddUserLoss(const UserLoss& loss, std::vector<UserLoss>& users) {
  if (users.empty() || users.back().user != loss.user) users.push_back({.user = loss.user});
  users.back().positions += loss.positions;
  users.back().nats += loss.nats;
}

namespace {

double PerplexityOf(const std::vector<UserLoss>& users, std::span<const std::size_t> picks) {
  double nats = 0;
  double positions = 0;
  for (const std::size_t pick : picks) {
    nats += users[pick].nats;
    positions += static_cast<double>(users[pick].positions);
  }
  return std::exp(nats / positions);
}

double Share(double public_model, double private_mechanism, double fine_tuned) {
  const double gain = public_model - fine_tuned;
  if (!(gain > 0)) return std::numeric_limits<double>::quiet_NaN();
  return (public_model - private_mechanism) / gain;
}

}  // namespace

KeptShare Kept(const PerplexityRuns& public_model, const PerplexityRuns& private_mechanism,
               const PerplexityRuns& fine_tuned) {
  constexpr std::size_t kResamples = 2000;
  const std::size_t users = public_model.users.size();
  const double share =
      Share(public_model.corpus(), private_mechanism.corpus(), fine_tuned.corpus());
  if (std::isnan(share)) return {share, share, share};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const KeptShare unbounded = {share, -kInfinity, kInfinity};
  if (users < 2 || private_mechanism.users.empty()) return unbounded;
  SUBMIX_CHECK(private_mechanism.users.size() == users && fine_tuned.users.size() == users,
               "losses of the same users");
  const auto random = base::MakeRepeatableRandomSource(base::Sha256("submix kept share\n"));
  std::vector<double> shares;
  std::vector<std::size_t> picks(users);
  for (std::size_t resample = 0; resample < kResamples; ++resample) {
    for (std::size_t& pick : picks) pick = random->NextUint64() % users;
    shares.push_back(Share(PerplexityOf(public_model.users, picks),
                           PerplexityOf(private_mechanism.users, picks),
                           PerplexityOf(fine_tuned.users, picks)));
    if (std::isnan(shares.back())) return unbounded;
  }
  std::sort(shares.begin(), shares.end());
  return {share, shares[kResamples / 40], shares[kResamples - 1 - kResamples / 40]};
}

}  // namespace submix::eval
