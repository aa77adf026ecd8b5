// A deployment's ledger in a temporary directory, and the verbs of its tests. Amounts are in units
// of 2^-50 nats.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ledger/durable_ledger.h"

namespace submix::ledger {

using Units = std::vector<std::int64_t>;

inline std::vector<accounting::FixedNats> Amounts(const Units& units) {
  std::vector<accounting::FixedNats> amounts;
  for (const std::int64_t unit : units) amounts.push_back(accounting::FixedNats::FromUnits(unit));
  return amounts;
}

inline base::StatusOr<std::vector<Receipt>> ChargeOne(
    Ledger& ledger, const Units& units,
    accounting::ChargeRule rule = accounting::ChargeRule::kPerPart,
    base::ReleaseId release_id = {1, 1}) {
  const auto charges = Amounts(units);
  const ChargeRequest request{release_id, rule, charges};
  return ledger.Charge(std::span(&request, 1));
}

inline Units SpentOf(const Ledger& ledger) {
  const auto accounts = ledger.Accounts();
  EXPECT_THAT(accounts, base::IsOk());
  Units spent;
  if (!accounts.ok()) return spent;
  for (const Account& account : *accounts) spent.push_back(account.spent.units());
  return spent;
}

class LedgerFixture : public ::testing::Test {
 protected:
  // Accounts "part 0" …: with these budgets, and with these amounts spent already.
  static std::vector<Account> Parts(const Units& budgets, const Units& spent = {}) {
    std::vector<Account> parts;
    for (std::size_t part = 0; part < budgets.size(); ++part) {
      const std::int64_t carried = spent.empty() ? 0 : spent[part];
      parts.push_back({"part " + std::to_string(part),
                       accounting::FixedNats::FromUnits(budgets[part]),
                       accounting::FixedNats::FromUnits(carried)});
    }
    return parts;
  }

  void Create(const Units& budgets, const Units& spent = {}) {
    SUBMIX_ASSERT_OK(DurableLedger::Create(options_, Parts(budgets, spent), "2"));
  }

  std::unique_ptr<DurableLedger> Open() {
    auto ledger = DurableLedger::Open(options_);
    EXPECT_THAT(ledger, base::IsOk());
    return ledger.ok() ? std::move(ledger).value() : nullptr;
  }

  // A closed ledger is one file.
  void CopyLedger(const std::string& from, const std::string& to) {
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
  }

  base::TemporaryDirectory directory_;
  DurableLedgerOptions options_{directory_.File("ledger.sqlite"), directory_.File("anchor"),
                                base::Sha256("deployment")};
};

// What Open, or OpenReadOnly, says to a user who may not write. Root may always: becomes nobody, in
// a child process.
inline void ExitWithCodeOfOpen(const DurableLedgerOptions& options,
                               decltype(&DurableLedger::Open) open = DurableLedger::Open) {
  if (geteuid() == 0 && setuid(65534) != 0) _exit(99);
  _exit(static_cast<int>(open(options).status().code()));
}

}  // namespace submix::ledger
