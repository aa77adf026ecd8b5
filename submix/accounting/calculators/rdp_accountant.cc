#include "submix/accounting/calculators/rdp_accountant.h"

#include <algorithm>
#include <cmath>

#include "submix/accounting/fixed_nats.h"
#include "submix/base/check.h"

namespace submix::accounting {
namespace {

using divergence::RenyiOrder;

constexpr double kMostRuns = 0x1p53;

}  // namespace

std::vector<RdpBound> CountRdp(std::span<const PrivacyEvent> history,
                               std::span<const RenyiOrder> orders) {
  RdpAccountant accountant({orders.begin(), orders.end()});
  for (const PrivacyEvent& event : history) accountant.Compose(event);
  return accountant.bounds();
}

base::StatusOr<BestConversion> EpsilonOf(const PrivacyEvent& event, double delta) {
  return BestEpsilon(CountRdp({&event, 1}, DefaultOrders()), delta, ConversionKind::kImproved);
}

RdpAccountant::RdpAccountant(std::vector<RenyiOrder> orders) {
  for (const RenyiOrder order : orders) bounds_.push_back({order, 0});
}

void RdpAccountant::Compose(const PrivacyEvent& event) {
  SUBMIX_CHECK(event.count >= 0, "a negative number of runs");
  if (event.count == 0) return;
  if (!history_.empty() && history_.back().run == event.run) {
    history_.back().count += event.count;
  } else {
    history_.push_back(event);
    last_run_.clear();
    for (const RdpBound& bound : bounds_) {
      last_run_.push_back(Outward(RunRdp(event.run, bound.order)));
    }
  }
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    bounds_[i].rdp += static_cast<double>(event.count) * last_run_[i];
  }
}

base::StatusOr<RunsWithin> MostRuns(const MechanismRun& run, const EpsilonBound& target,
                                    std::span<const RenyiOrder> orders) {
  RunsWithin most;
  for (const RenyiOrder order : orders) {
    if (order.value() < kLeastImprovedOrder) continue;
    SUBMIX_ASSIGN_OR_RETURN(const double budget,
                            RdpForEpsilon(order, target, ConversionKind::kImproved));
    // Down, by more than the product with the count rounds; NaN where both are infinite.
    const double count = std::floor(Inward(budget / Outward(RunRdp(run, order)), 0x1p-50));
    if (!(count > static_cast<double>(most.count))) continue;
    most = {order, static_cast<std::int64_t>(std::min(count, kMostRuns))};
  }
  return most;
}

}  // namespace submix::accounting
