// Counts events: Rényi divergences of composed runs add up at every order (Mironov 2017,
// Proposition 1), and the best order is converted to (epsilon, delta). For runs whose number and
// parameters are fixed beforehand, or public; a filter over costs that depend on private data is
// another matter (individual_filter.h).
#pragma once

#include <span>
#include <vector>

#include "submix/accounting/calculators/privacy_event.h"
#include "submix/accounting/rdp_conversion.h"
#include "submix/base/status.h"
#include "submix/divergence/renyi_order.h"

namespace submix::accounting {

// The bounds of a whole history at these orders, outward. They hold at the same time.
std::vector<RdpBound> CountRdp(std::span<const PrivacyEvent> history,
                               std::span<const divergence::RenyiOrder> orders);

// What an event costs at this delta: the improved conversion at the best of DefaultOrders().
// Errors: those of BestEpsilon.
base::StatusOr<BestConversion> EpsilonOf(const PrivacyEvent& event, double delta);

// A running count, for many small events. Value; one thread at a time.
class RdpAccountant {
 public:
  explicit RdpAccountant(std::vector<divergence::RenyiOrder> orders = DefaultOrders());

  // Requires: event.count >= 0.
  void Compose(const PrivacyEvent& event);
  // Everything composed, equal neighbours merged.
  const std::vector<PrivacyEvent>& history() const { return history_; }
  // Outward (fixed_nats.h), for up to 10^5 events.
  const std::vector<RdpBound>& bounds() const { return bounds_; }

 private:
  std::vector<PrivacyEvent> history_;
  std::vector<double> last_run_;  // what one run of the last event costs at each order, outward
  std::vector<RdpBound> bounds_;
};

// The most runs whose bounds convert to at most this epsilon at this delta, at the best order, and
// that order. Worst case, fixed beforehand. `count` is capped at 2^53.
struct RunsWithin {
  divergence::RenyiOrder order = divergence::RenyiOrder::Infinity();
  std::int64_t count = 0;
};
// Errors: kInvalidArgument for a target out of range.
base::StatusOr<RunsWithin> MostRuns(const MechanismRun& run, const EpsilonBound& target,
                                    std::span<const divergence::RenyiOrder> orders);

}  // namespace submix::accounting
