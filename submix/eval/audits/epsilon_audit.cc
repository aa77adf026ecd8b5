#include "submix/eval/audits/epsilon_audit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "submix/base/check.h"
#include "submix/divergence/renyi_divergence.h"
#include "submix/eval/audits/roc_curve.h"

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

// One half of each world's scores, sorted.
struct Half {
  std::vector<double> with;
  std::vector<double> without;
};

// A test: the score is at least the threshold.
struct AuditEvent {
  double threshold = 0;
  bool is_likelier_with = true;  // the text, than without it
};

// Of bounds on the two probabilities: what an event proves. Half of the error goes to each bound.
using Proof = std::function<double(double, double)>;
double Prove(const Half& half, const AuditEvent& event, double error, const Proof& proof) {
  const auto& likelier = event.is_likelier_with ? half.with : half.without;
  const auto& rarer = event.is_likelier_with ? half.without : half.with;
  return proof(LowerBound(CountAtLeast(likelier, event.threshold), error / 2),
               UpperBound(CountAtLeast(rarer, event.threshold), error / 2));
}

AuditEvent BestEvent(const Half& half, double error, const Proof& proof) {
  std::vector<double> thresholds = Thresholds(half.with);
  const std::vector<double> more = Thresholds(half.without);
  thresholds.insert(thresholds.end(), more.begin(), more.end());
  AuditEvent best;
  double most = -1;
  for (const double threshold : thresholds) {
    for (const bool is_likelier_with : {true, false}) {
      const AuditEvent event = {threshold, is_likelier_with};
      const double proven = Prove(half, event, error, proof);
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
  const auto audit = [&](const Proof& proof) {
    return Prove(proving, BestEvent(choosing, options.error, proof), options.error, proof);
  };
  return {audit([&](double p, double q) { return ProvenRdp(p, q, options.order); }),
          audit([&](double p, double q) { return ProvenEpsilon(p, q, options.delta); })};
}

}  // namespace submix::eval
