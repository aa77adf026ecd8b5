// What goes wrong elsewhere, with its numbers: each test
// shows the broken rule break, and that ours does not do it. Those of single mechanisms are in
// their own tests; docs/privacy_checklist.md lists all of them.
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/divergence/bounded_range.h"
#include "submix/divergence/renyi_divergence.h"
#include "submix/mechanism/filtered_submix.h"
#include "submix/mechanism/mechanism.h"
#include "submix/mechanism/testing/exact_charge.h"
#include "submix/mechanism/testing/simulated_predictions.h"

namespace submix::mechanism {
namespace counterexample_test {

using divergence::BoundedRangeDivergence;
using divergence::RenyiDivergence;
using divergence::RenyiOrder;
using divergence::SymmetricRenyiDivergence;

constexpr int kParts = 64;
const Pmf kPublic = {.5, .5};
const Pmf kMember = {.6, .4};

// The mean of `members` parts at (.6, .4) and 64 - members at the public model.
Pmf MeanOf(int members) { return MixPmfs(kPublic, kMember, static_cast<double>(members) / kParts); }

// With exact leave-one-out charges the other parts' charges, and so the moment at which they
// fall out, depend on part i: 9,830 tokens with it, 9,843 without. In between one world answers
// from the public model and the other does not, and nobody pays.
TEST(CounterexampleTest, ExactLeaveOneOutChargesLeakThroughTheOthers) {
  const RenyiOrder order = RenyiOrder::Two();
  const double with = SymmetricRenyiDivergence(MeanOf(64), MeanOf(63), order);
  const double without = SymmetricRenyiDivergence(MeanOf(63), MeanOf(62), order);
  EXPECT_NEAR(with, 1.0172474301875e-5, 1e-17);
  EXPECT_NEAR(without, 1.0159349395352e-5, 1e-17);
  const double budget = .1;
  const double lasts_with = std::floor(budget / with);
  const double lasts_without = std::floor(budget / without);
  EXPECT_EQ(lasts_with, 9830);
  EXPECT_EQ(lasts_without, 9843);
  const double transcript =
      lasts_with * RenyiDivergence(MeanOf(64), MeanOf(63), order) +
      (lasts_without - lasts_with) * RenyiDivergence(kPublic, MeanOf(63), order);
  EXPECT_NEAR(transcript, .6137683322, 1e-9);
  EXPECT_GT(transcript, 6 * budget);

  // Ours: another part's charge is the same whatever part i says.
  MechanismOptions options;
  options.num_parts = kParts;
  options.target_leakage = 1;
  options.max_mixing_weight = 1;
  const auto mechanism = *FilteredSubmix::Create(options);
  const std::vector<accounting::FixedNats> remaining(kParts,
                                                     accounting::FixedNats::RoundDown(budget));
  std::vector<Pmf> members(kParts, kMember);
  const SimulatedPredictions everybody(kPublic, members);
  members[0] = kPublic;
  const SimulatedPredictions neighbour(kPublic, members);
  EXPECT_EQ((*mechanism->Propose(everybody.view(), remaining, {}))->charges()[1],
            (*mechanism->Propose(neighbour.view(), remaining, {}))->charges()[1]);
}

// If one short part makes all parts renew their leases and forfeit what is left of them, a
// block of .1 is 7,727 tokens of difference, each worth .0395 nats. Ours has no leases: a step's
// charges are one transaction over all parts (contract 1), and no part sees another's
// account (ChargePerPartTest.NoPartSeesAnother).
TEST(CounterexampleTest, JointRenewalShowsWorldsApart) {
  const RenyiOrder order = RenyiOrder::Two();
  const double charge = ExactCharge(kMember, kPublic, kParts, .5, order).larger();
  EXPECT_NEAR(charge, 1.2940251623e-5, 1e-14);
  EXPECT_EQ(std::floor(.1 / charge), 7727);
  const Pmf others = MeanOf(63);
  EXPECT_NEAR(RenyiDivergence(kPublic, others, order), .0395309175117, 1e-12);
  EXPECT_NEAR(RenyiDivergence(others, kPublic, order), .0380274684670, 1e-12);
}

// A budget belongs to the data, so users who are trained anew go on with what is spent. If every
// new part began with the largest amount that an old part spent, one user would decide for all: 63
// old parts said nothing and have spent nothing; the user's part has spent its budget, or, without
// the user, nothing either. With the user no new part pays for a token, without 63 parts do: 305
// nats, where both budgets together are .2. What parts of ours begin with does not depend on what
// another part spent (Theorem 16; EarlierDeploymentsTest.WhatOnePartHasSpentReachesNoOtherPart).
TEST(CounterexampleTest, TheLargestAmountSpentShowsWorldsApart) {
  const RenyiOrder order = RenyiOrder::Two();
  const double budget = .1;
  const double charge = ExactCharge(kMember, kPublic, kParts, .5, order).larger();
  const double tokens = std::floor(budget / charge);
  const double begun_with_the_user = tokens * charge;
  EXPECT_LT(budget - begun_with_the_user, charge);
  const double transcript = tokens * RenyiDivergence(kPublic, MeanOf(63), order);
  EXPECT_NEAR(transcript, 305.4553995, 1e-6);
  EXPECT_GT(transcript, 1000 * 2 * budget);
}

// A search over all parts' records that charges the parts whose records were found. With part i its
// record is among the eight that answer, and pushes out another part's, which comes back without
// part i and says the opposite. What i is charged bounds its own absence, not the other's return:
// more than twice as much is lost, at every token, and the other part pays nothing for being out.
// Ours searches each part alone (MemberContextsTest.NoMemberDependsOnAnothersRecords).
TEST(CounterexampleTest, ChargingOnlyWhoWasFoundMissesWhoWasPushedOut) {
  const RenyiOrder order = RenyiOrder::Two();
  constexpr int kFound = 8;
  const Pmf opposite = {.4, .6};
  const double charge = ExactCharge(kMember, kPublic, kFound, .5, order).larger();
  const auto mean_with = [&](const Pmf& eighth) { return MixPmfs(kPublic, eighth, 1.0 / kFound); };
  EXPECT_LE(SymmetricRenyiDivergence(mean_with(kMember), kPublic, order), charge);
  EXPECT_GT(SymmetricRenyiDivergence(mean_with(kMember), mean_with(opposite), order), 2 * charge);
}

// Where users are promised what one part is, because an emptied user leaves the part null, a part
// must be one user. Of two, the other one's text speaks when the first is emptied, here for the
// opposite: the part's whole range is turned round, at nearly four times the charge. Ours deals one
// user to a part and reads no part that holds two
// (ContextEnsembleTest.WithPublicKeysAPartOfTwoUsersIsNotRead).
TEST(CounterexampleTest, EmptyingOneOfTwoUsersDoesNotLeaveThePartNull) {
  const RenyiOrder order = RenyiOrder::Two();
  constexpr double kClip = 8;
  const double charge = BoundedRangeDivergence(2 * kClip / kParts, order);
  const auto law = [](double log_ratio) {
    const double up = std::exp(log_ratio / kParts);
    return Pmf{up / (up + 1 / up), 1 / up / (up + 1 / up)};
  };
  EXPECT_LE(SymmetricRenyiDivergence(law(kClip), kPublic, order), charge * (1 + 1e-12));
  EXPECT_GT(SymmetricRenyiDivergence(law(kClip), law(-kClip), order), 3.9 * charge);
}

// In single precision a divergence of 8e-7 becomes negative: a loss that refunds.
TEST(CounterexampleTest, SinglePrecisionRefunds) {
  const auto random = base::MakeSeededRandomSource(9);
  constexpr std::size_t kTokens = 50257;
  int refunds = 0;
  for (int trial = 0; trial < 8; ++trial) {
    const Pmf q = RandomPmf(*random, kTokens, 4);
    Pmf p = q;
    double sum = 0;
    for (double& value : p) {
      value *= 1 + 9e-4 * std::sqrt(3) * (2 * NextUnit(*random) - 1);
      sum += value;
    }
    for (double& value : p) value /= sum;
    float naive = 0;
    long double exact = 0;
    for (std::size_t x = 0; x < kTokens; ++x) {
      const auto single_p = static_cast<float>(p[x]);
      const auto single_q = static_cast<float>(q[x]);
      naive += single_p * single_p / single_q;
      const long double difference = static_cast<long double>(p[x]) - q[x];
      exact += difference * difference / q[x];
    }
    refunds += std::log(naive) < 0 ? 1 : 0;
    const double ours = RenyiDivergence(p, q, RenyiOrder::Two());
    EXPECT_NEAR(ours, static_cast<double>(std::log1p(exact)), 1e-12 * ours);
    EXPECT_GT(ours, 7e-7);
    EXPECT_LT(ours, 9e-7);
  }
  EXPECT_GT(refunds, 0) << "single precision did well: the example is too easy";
}

// SubMix, Proposition C.3: a protocol that stops by itself, at 1 against at 4, and a random end,
// uniform on {1 … 4}. The paper's price of the end is log 4 at every order.
TEST(CounterexampleTest, APrivateStopHasInfiniteDivergence) {
  const Pmf stops_at_1 = {1, 0, 0, 0};
  const Pmf stops_at_4 = {.25, .25, .25, .25};
  for (const char* text : {"1", "1.5", "2", "18", "inf"}) {
    const auto order = divergence::RenyiOrder::Parse(text).value();
    EXPECT_NEAR(divergence::RenyiDivergence(stops_at_1, stops_at_4, order), std::log(4.0), 1e-12);
    EXPECT_EQ(divergence::RenyiDivergence(stops_at_4, stops_at_1, order),
              std::numeric_limits<double>::infinity());
  }
}

}  // namespace counterexample_test
}  // namespace submix::mechanism
