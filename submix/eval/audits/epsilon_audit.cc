#include "submix/eval/audits/epsilon_audit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "submix/base/check.h"
#include "submix/divergence/renyi_divergence.h"

namespace submix::eval {
namespace {

// Thresholds are tried at ranks that grow by this factor from both ends of each sample.
constexpr double kRankStep = 1.15;

std::vector<double> Sorted(std::span<const double> scores) {
  std::vector<double> sorted(scores.begin(), scores.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

std::vector<double> Thresholds(const std::vector<double>& sorted) {
  std::vector<double> thresholds;
  for (double rank = 0; rank < static_cast<double>(sorted.size());
       rank = std::max(rank + 1, rank * kRankStep)) {
    const auto at = static_cast<std::size_t>(rank);
    thresholds.push_back(sorted[at]);
    thresholds.push_back(sorted[sorted.size() - 1 - at]);
  }
  return thresholds;
}

BinomialCount CountAtLeast(const std::vector<double>& sorted, double threshold) {
  const auto first = std::lower_bound(sorted.begin(), sorted.end(), threshold);
  return {sorted.end() - first, static_cast<std::int64_t>(sorted.size())};
}

// Of bounds on the two probabilities: what an event proves. Half of the error goes to each bound.
using Proof = std::function<double(double, double)>;
double Prove(const AuditEvent& event, double error, const Proof& proof) {
  const BinomialCount& likelier = event.is_likelier_with ? event.with : event.without;
  const BinomialCount& rarer = event.is_likelier_with ? event.without : event.with;
  return proof(LowerBound(likelier, error / 2), UpperBound(rarer, error / 2));
}

// One half of each world's scores, sorted.
struct Half {
  std::vector<double> with;
  std::vector<double> without;
};

AuditEvent BestEvent(const Half& half, double error, const Proof& proof) {
  std::vector<double> thresholds = Thresholds(half.with);
  const std::vector<double> more = Thresholds(half.without);
  thresholds.insert(thresholds.end(), more.begin(), more.end());
  AuditEvent best;
  double most = -1;
  for (const double threshold : thresholds) {
    AuditEvent event = {threshold, true, CountAtLeast(half.with, threshold),
                        CountAtLeast(half.without, threshold)};
    for (const bool is_likelier_with : {true, false}) {
      event.is_likelier_with = is_likelier_with;
      const double proven = Prove(event, error, proof);
      if (proven > most) {
        most = proven;
        best = event;
      }
    }
  }
  return best;
}

}  // namespace

double ProvenEpsilon(double p, double q, double delta) {
  double epsilon = 0;
  if (p > delta) epsilon = std::max(epsilon, std::log((p - delta) / q));
  if (1 - q > delta) epsilon = std::max(epsilon, std::log((1 - q - delta) / (1 - p)));
  return epsilon;
}

double ProvenRdp(double p, double q, divergence::RenyiOrder order) {
  if (!(p > q)) return 0;
  const std::array<double, 2> likelier = {p, 1 - p};
  const std::array<double, 2> rarer = {q, 1 - q};
  return divergence::SymmetricRenyiDivergence(likelier, rarer, order);
}

EpsilonAudit AuditEpsilon(std::span<const double> with, std::span<const double> without,
                          const AuditOptions& options) {
  SUBMIX_CHECK(with.size() >= 2 && without.size() >= 2, "an audit needs two of each");
  const Half choosing = {Sorted(with.first(with.size() / 2)),
                         Sorted(without.first(without.size() / 2))};
  const Half proving = {Sorted(with.subspan(with.size() / 2)),
                        Sorted(without.subspan(without.size() / 2))};
  const auto audit = [&](const Proof& proof, AuditEvent& event) {
    event = BestEvent(choosing, options.error, proof);
    event.with = CountAtLeast(proving.with, event.threshold);
    event.without = CountAtLeast(proving.without, event.threshold);
    return Prove(event, options.error, proof);
  };
  EpsilonAudit result;
  result.rdp =
      audit([&](double p, double q) { return ProvenRdp(p, q, options.order); }, result.rdp_event);
  result.epsilon = audit([&](double p, double q) { return ProvenEpsilon(p, q, options.delta); },
                         result.epsilon_event);
  return result;
}

}  // namespace submix::eval
