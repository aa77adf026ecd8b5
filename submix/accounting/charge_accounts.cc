#include "submix/accounting/charge_accounts.h"

#include <algorithm>

#include "submix/base/check.h"

namespace submix::accounting {
namespace {

std::vector<bool> ChargePerPart(std::span<const FixedNats> charges,
                                std::span<IndividualFilter> accounts) {
  // Who cannot pay pays nothing, with the same work.
  constexpr FixedNats kNothing;
  std::vector<bool> paid(accounts.size());
  for (std::size_t i = 0; i < accounts.size(); ++i) {
    paid[i] = accounts[i].CanPay(charges[i]);
    accounts[i].Pay(paid[i] ? charges[i] : kNothing);
  }
  return paid;
}

std::vector<bool> ChargeAllOrStop(std::span<const FixedNats> charges,
                                  std::span<IndividualFilter> accounts) {
  std::vector<bool> able(accounts.size());
  for (std::size_t i = 0; i < accounts.size(); ++i) {
    able[i] = accounts[i].remaining() > FixedNats() && accounts[i].CanPay(charges[i]);
  }
  if (std::find(able.begin(), able.end(), false) == able.end()) {
    return ChargePerPart(charges, accounts);
  }
  for (std::size_t i = 0; i < accounts.size(); ++i) {
    if (!able[i]) accounts[i].Empty();
  }
  return std::vector<bool>(accounts.size(), false);
}

}  // namespace

std::vector<bool> ChargeAccounts(ChargeRule rule, std::span<const FixedNats> charges,
                                 std::span<IndividualFilter> accounts) {
  SUBMIX_CHECK(charges.size() == accounts.size(), "one charge for each account");
  switch (rule) {
    case ChargeRule::kPerPart:
      return ChargePerPart(charges, accounts);
    case ChargeRule::kAllOrStop:
      return ChargeAllOrStop(charges, accounts);
  }
  base::CheckFailed(__FILE__, __LINE__, "rule", "unknown charge rule");
}

}  // namespace submix::accounting
