#include "submix/ledger/step_charging.h"

#include <gtest/gtest.h>

#include "submix/ledger/testing/ledger_fixture.h"

namespace submix::ledger {
namespace step_charging_test {

using accounting::ChargeRule;
using accounting::FixedNats;
using base::StatusCode;
using base::StatusIs;
using ::testing::_;

std::vector<Account> AccountsWith(const Units& budgets) {
  std::vector<Account> accounts;
  for (const FixedNats budget : Amounts(budgets)) accounts.push_back({"part", budget, {}});
  return accounts;
}

Units Spent(const std::vector<Account>& accounts) {
  Units spent;
  for (const Account& account : accounts) spent.push_back(account.spent.units());
  return spent;
}

BookedPart Paid(std::int64_t units) { return {Outcome::kPaid, FixedNats::FromUnits(units)}; }
BookedPart SatOut() { return {}; }
BookedPart Emptied(std::int64_t units) { return {Outcome::kEmptied, FixedNats::FromUnits(units)}; }

TEST(StepChargingTest, CountsEarlierRequestsBeforeLaterOnesAreDecided) {
  auto accounts = AccountsWith({10, 10});
  const auto first = Amounts({6, 1});
  const auto second = Amounts({6, 1});
  const auto third = Amounts({4, 9});
  const ChargeRequest step[] = {{{1, 1}, ChargeRule::kPerPart, first},
                                {{1, 2}, ChargeRule::kPerPart, second},
                                {{1, 3}, ChargeRule::kPerPart, third}};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto booked, BookStep(step, accounts));
  ASSERT_EQ(booked.size(), 3U);
  EXPECT_EQ(booked[0].parts, (std::vector{Paid(6), Paid(1)}));
  EXPECT_EQ(booked[1].parts, (std::vector{SatOut(), Paid(1)}));
  EXPECT_EQ(booked[2].parts, (std::vector{Paid(4), SatOut()}));
  EXPECT_EQ(booked[2].release_id, (base::ReleaseId{1, 3}));
  EXPECT_EQ(Spent(accounts), (Units{10, 2}));
}

TEST(StepChargingTest, BooksWhatAStopTakes) {
  auto accounts = AccountsWith({10, 10});
  const auto dear = Amounts({3, 11});
  const auto cheap = Amounts({1, 1});
  const ChargeRequest step[] = {{{1, 1}, ChargeRule::kAllOrStop, cheap},
                                {{1, 2}, ChargeRule::kAllOrStop, dear},
                                {{1, 3}, ChargeRule::kAllOrStop, cheap}};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto booked, BookStep(step, accounts));
  EXPECT_EQ(booked[0].parts, (std::vector{Paid(1), Paid(1)}));
  EXPECT_EQ(booked[1].parts, (std::vector{SatOut(), Emptied(9)}));
  EXPECT_EQ(booked[2].parts, (std::vector{SatOut(), SatOut()})) << "stopped for ever";
  EXPECT_EQ(Spent(accounts), (Units{1, 10}));
}

TEST(StepChargingTest, TellsAPaidZeroFromSittingOut) {
  auto accounts = AccountsWith({0, 0});
  const auto charges = Amounts({0, 1});
  const ChargeRequest request{{1, 1}, ChargeRule::kPerPart, charges};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto booked, BookStep(std::span(&request, 1), accounts));
  EXPECT_EQ(booked[0].parts, (std::vector{Paid(0), SatOut()}));
}

TEST(StepChargingTest, AnUnpayableChargeSitsOut) {
  auto accounts = AccountsWith({10});
  const std::vector<FixedNats> charges = {FixedNats::Unpayable()};
  const ChargeRequest request{{1, 1}, ChargeRule::kPerPart, charges};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto booked, BookStep(std::span(&request, 1), accounts));
  EXPECT_EQ(booked[0].parts, std::vector{SatOut()});
}

TEST(StepChargingTest, ChangesNothingWhenOneRequestIsWrong) {
  auto accounts = AccountsWith({10, 10});
  const auto right = Amounts({1, 1});
  for (const auto& wrong : {Amounts({1}), Amounts({1, 1, 1}), Amounts({})}) {
    const ChargeRequest step[] = {{{1, 1}, ChargeRule::kPerPart, right},
                                  {{1, 2}, ChargeRule::kPerPart, wrong}};
    EXPECT_THAT(BookStep(step, accounts), StatusIs(StatusCode::kInvalidArgument, _));
  }
  const ChargeRequest no_rule{{1, 1}, static_cast<ChargeRule>(3), right};
  EXPECT_THAT(BookStep(std::span(&no_rule, 1), accounts),
              StatusIs(StatusCode::kInvalidArgument, _));
  EXPECT_EQ(Spent(accounts), (Units{0, 0}));
}

}  // namespace step_charging_test
}  // namespace submix::ledger
