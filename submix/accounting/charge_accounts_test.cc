#include "submix/accounting/charge_accounts.h"

#include <random>

#include <gtest/gtest.h>

namespace submix::accounting {
namespace charge_accounts_test {

using Paid = std::vector<bool>;

FixedNats Units(std::int64_t units) { return FixedNats::FromUnits(units); }

std::vector<IndividualFilter> AccountsOf(std::initializer_list<std::int64_t> budgets) {
  std::vector<IndividualFilter> accounts;
  for (const std::int64_t budget : budgets) accounts.emplace_back(Units(budget));
  return accounts;
}

std::vector<std::int64_t> SpentOf(const std::vector<IndividualFilter>& accounts) {
  std::vector<std::int64_t> spent;
  for (const IndividualFilter& account : accounts) spent.push_back(account.spent().units());
  return spent;
}

TEST(ChargePerPartTest, WhoCanPayPaysAndTheOthersSitOut) {
  std::vector<IndividualFilter> accounts = AccountsOf({10, 10, 10, 0});
  const std::vector<FixedNats> charges = {Units(4), Units(11), FixedNats::Unpayable(), Units(0)};
  EXPECT_EQ(ChargeAccounts(ChargeRule::kPerPart, charges, accounts),
            (Paid{true, false, false, true}));
  EXPECT_EQ(SpentOf(accounts), (std::vector<std::int64_t>{4, 0, 0, 0}));
}

TEST(ChargePerPartTest, ASkippedPartTakesPartAgainWhenAReleaseIsCheaper) {
  std::vector<IndividualFilter> accounts = AccountsOf({10});
  EXPECT_EQ(ChargeAccounts(ChargeRule::kPerPart, std::vector{Units(11)}, accounts), Paid{false});
  EXPECT_EQ(ChargeAccounts(ChargeRule::kPerPart, std::vector{Units(10)}, accounts), Paid{true});
}

// Part-local: what one part pays depends on no other part.
TEST(ChargePerPartTest, NoPartSeesAnother) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<IndividualFilter> accounts;
    std::vector<FixedNats> charges;
    for (int i = 0; i < 5; ++i) {
      accounts.emplace_back(Units(static_cast<std::int64_t>(random() % 20)));
      charges.push_back(Units(static_cast<std::int64_t>(random() % 20)));
    }
    std::vector<IndividualFilter> alone = {accounts[2]};
    const Paid together = ChargeAccounts(ChargeRule::kPerPart, charges, accounts);
    const Paid single = ChargeAccounts(ChargeRule::kPerPart, std::vector{charges[2]}, alone);
    EXPECT_EQ(together[2], single[0]);
    EXPECT_EQ(accounts[2].spent(), alone[0].spent());
  }
}

TEST(ChargeAllOrStopTest, EveryonePaysWhileEveryoneCan) {
  std::vector<IndividualFilter> accounts = AccountsOf({10, 5});
  const std::vector<FixedNats> charges = {Units(2), Units(5)};
  EXPECT_EQ(ChargeAccounts(ChargeRule::kAllOrStop, charges, accounts), (Paid{true, true}));
  EXPECT_EQ(SpentOf(accounts), (std::vector<std::int64_t>{2, 5}));
}

TEST(ChargeAllOrStopTest, OnePartThatCannotPayStopsAllForEver) {
  std::vector<IndividualFilter> accounts = AccountsOf({10, 5, 10});
  const std::vector<FixedNats> dear = {Units(2), Units(6), Units(2)};
  EXPECT_EQ(ChargeAccounts(ChargeRule::kAllOrStop, dear, accounts), Paid(3, false));
  EXPECT_EQ(SpentOf(accounts), (std::vector<std::int64_t>{0, 5, 0}));
  // Not even a free release brings the service back.
  const std::vector<FixedNats> free(3, Units(0));
  EXPECT_EQ(ChargeAccounts(ChargeRule::kAllOrStop, free, accounts), Paid(3, false));
  EXPECT_EQ(SpentOf(accounts), (std::vector<std::int64_t>{0, 5, 0}));
}

TEST(ChargeAllOrStopTest, APartWithNothingLeftStopsAll) {
  std::vector<IndividualFilter> accounts = AccountsOf({10, 5});
  ChargeAccounts(ChargeRule::kAllOrStop, std::vector{Units(1), Units(5)}, accounts);
  EXPECT_EQ(ChargeAccounts(ChargeRule::kAllOrStop, std::vector{Units(1), Units(0)}, accounts),
            Paid(2, false));
  EXPECT_EQ(SpentOf(accounts), (std::vector<std::int64_t>{1, 5}));
}

TEST(ChargeAllOrStopTest, AnUnpayableChargeEmptiesOnlyItsOwnPart) {
  std::vector<IndividualFilter> accounts = AccountsOf({10, 10});
  const std::vector<FixedNats> charges = {Units(1), FixedNats::Unpayable()};
  EXPECT_EQ(ChargeAccounts(ChargeRule::kAllOrStop, charges, accounts), Paid(2, false));
  EXPECT_EQ(SpentOf(accounts), (std::vector<std::int64_t>{0, 10}));
}

TEST(ChargeAccountsDeathTest, SizesMustFit) {
  std::vector<IndividualFilter> accounts = AccountsOf({10});
  EXPECT_DEATH(ChargeAccounts(ChargeRule::kPerPart, {}, accounts), "one charge for each account");
}

}  // namespace charge_accounts_test
}  // namespace submix::accounting
