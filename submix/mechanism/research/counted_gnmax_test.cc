#include "submix/mechanism/research/counted_gnmax.h"

#include <vector>

#include <gtest/gtest.h>

#include "submix/accounting/calculators/gnmax_rdp.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/divergence/renyi_divergence.h"
#include "submix/mechanism/testing/transcripts.h"

namespace submix::mechanism {
namespace counted_gnmax_test {

using accounting::FixedNats;
using divergence::RenyiOrder;
using divergence::SymmetricRenyiDivergence;

RenyiOrder Order(double value) { return *RenyiOrder::Create(value); }

std::unique_ptr<CountedGnmax> Make(int num_parts, double order, double target_leakage,
                                   ChargeAccounting accounting) {
  MechanismOptions options;
  options.num_parts = num_parts;
  options.order = Order(order);
  options.target_leakage = target_leakage;
  options.accounting = accounting;
  return *CountedGnmax::Create(options);
}

// A member that likes `token` best.
Pmf VoteFor(std::size_t support_size, std::size_t token) {
  Pmf pmf(support_size, .5 / static_cast<double>(support_size));
  pmf[token] += .5;
  return pmf;
}

// Public vote: token 0.
SimulatedPredictions VotesOf(std::size_t support_size, const std::vector<std::size_t>& votes) {
  std::vector<Pmf> members;
  for (const std::size_t token : votes) members.push_back(VoteFor(support_size, token));
  return SimulatedPredictions(VoteFor(support_size, 0), members);
}

std::unique_ptr<Proposal> Propose(const Mechanism& mechanism,
                                  const SimulatedPredictions& predictions) {
  const auto k = static_cast<std::size_t>(predictions.view().num_parts);
  return *mechanism.Propose(predictions.view(), std::vector<FixedNats>(k), {});
}

Pmf Law(const Mechanism& mechanism, const SimulatedPredictions& predictions,
        const std::vector<bool>& paid) {
  NoRandomness no_randomness;
  return LawOf(std::move(*Propose(mechanism, predictions)).Mix(paid, no_randomness),
               predictions.view().support_size());
}

Pmf LawOfVotes(const Mechanism& mechanism, std::size_t support_size,
               const std::vector<std::size_t>& votes) {
  return Law(mechanism, VotesOf(support_size, votes), std::vector<bool>(votes.size(), true));
}

std::vector<std::size_t> Unanimous(std::size_t num_parts) {
  return std::vector<std::size_t>(num_parts, 1);
}

TEST(CountedGnmaxTest, ThePublishedChargeIsTheorem6ForEverybody) {
  const auto mechanism = Make(64, 2, .02, ChargeAccounting::kPublished);
  EXPECT_FALSE(mechanism->is_sound());
  EXPECT_EQ(mechanism->charge_rule(), accounting::ChargeRule::kAllOrStop);
  std::vector<std::size_t> votes = Unanimous(64);
  votes[0] = 2;
  std::vector<double> counts(53);
  counts[1] = 63;
  counts[2] = 1;
  const double expected =
      accounting::GnmaxDataDependentRdp(counts, mechanism->noise_scale(), Order(2));
  EXPECT_LT(expected, .002);
  const auto proposal = Propose(*mechanism, VotesOf(53, votes));
  for (const FixedNats charge : proposal->charges()) {
    EXPECT_NEAR(charge.ToNatsRoundedUp(), expected, 1e-12);
  }
  const auto statement = mechanism->Statement(FixedNats::RoundDown(2));
  EXPECT_FALSE(statement.proven || statement.worst_case);
  EXPECT_THAT(statement.proof, testing::HasSubstr("research"));
}

TEST(CountedGnmaxTest, LeaveOneOutIsTheDivergenceWithoutTheVote) {
  const auto mechanism = Make(5, 8, .3, ChargeAccounting::kLeaveOneOut);
  EXPECT_FALSE(mechanism->is_sound());
  const std::vector<std::size_t> votes = {1, 2, 2, 0, 1};
  const auto proposal = Propose(*mechanism, VotesOf(6, votes));
  const Pmf law = LawOfVotes(*mechanism, 6, votes);
  for (std::size_t part = 0; part < votes.size(); ++part) {
    std::vector<std::size_t> without = votes;
    without[part] = 0;
    const double expected =
        SymmetricRenyiDivergence(law, LawOfVotes(*mechanism, 6, without), Order(8));
    EXPECT_NEAR(proposal->charges()[part].ToNatsRoundedUp(), expected, 1e-12);
    EXPECT_LT(expected, .3);
  }
  EXPECT_EQ(proposal->charges()[3], FixedNats()) << "its vote is the public one";
}

// Why they are research: a charge of one part shows what another voted.
TEST(CountedGnmaxTest, ExactChargesDependOnOtherParts) {
  for (const auto accounting : {ChargeAccounting::kPublished, ChargeAccounting::kLeaveOneOut}) {
    const auto mechanism = Make(8, 2, .5, accounting);
    std::vector<std::size_t> votes = Unanimous(8);
    const FixedNats before = Propose(*mechanism, VotesOf(4, votes))->charges()[0];
    votes[1] = 2;
    EXPECT_NE(Propose(*mechanism, VotesOf(4, votes))->charges()[0], before);
  }
}

}  // namespace counted_gnmax_test
}  // namespace submix::mechanism
