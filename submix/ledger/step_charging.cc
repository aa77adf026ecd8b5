#include "submix/ledger/step_charging.h"

#include <string>

#include "submix/accounting/charge_accounts.h"
#include "submix/accounting/individual_filter.h"

namespace submix::ledger {
namespace {

using accounting::ChargeRule;
using accounting::FixedNats;
using accounting::IndividualFilter;

base::Status CheckRequest(const ChargeRequest& request, std::size_t num_parts) {
  if (request.charges.size() != num_parts) {
    return base::InvalidArgumentError("a charge request names " +
                                      std::to_string(request.charges.size()) +
                                      " parts, the ledger has " + std::to_string(num_parts));
  }
  if (request.rule != ChargeRule::kPerPart && request.rule != ChargeRule::kAllOrStop) {
    return base::InvalidArgumentError("a charge request has the unknown rule " +
                                      std::to_string(static_cast<int>(request.rule)));
  }
  return base::OkStatus();
}

BookedPart Booked(bool paid, FixedNats before, FixedNats after) {
  const FixedNats amount = after - before;  // nothing, for who sat out
  const Outcome unpaid = amount > FixedNats() ? Outcome::kEmptied : Outcome::kSatOut;
  return {paid ? Outcome::kPaid : unpaid, amount};
}

BookedRequest BookRequest(const ChargeRequest& request, std::vector<IndividualFilter>& filters) {
  std::vector<FixedNats> before;
  for (const IndividualFilter& filter : filters) before.push_back(filter.spent());
  const std::vector<bool> paid = accounting::ChargeAccounts(request.rule, request.charges, filters);
  BookedRequest booked{request.release_id, request.rule, {}};
  for (std::size_t part = 0; part < filters.size(); ++part) {
    booked.parts.push_back(Booked(paid[part], before[part], filters[part].spent()));
  }
  return booked;
}

}  // namespace

base::StatusOr<std::vector<BookedRequest>> BookStep(std::span<const ChargeRequest> step,
                                                    std::vector<Account>& accounts) {
  for (const ChargeRequest& request : step) {
    SUBMIX_RETURN_IF_ERROR(CheckRequest(request, accounts.size()));
  }
  std::vector<IndividualFilter> filters;
  for (const Account& account : accounts) filters.emplace_back(account.budget, account.spent);
  std::vector<BookedRequest> booked;
  for (const ChargeRequest& request : step) booked.push_back(BookRequest(request, filters));
  for (std::size_t part = 0; part < accounts.size(); ++part) {
    accounts[part].spent = filters[part].spent();
  }
  return booked;
}

}  // namespace submix::ledger
