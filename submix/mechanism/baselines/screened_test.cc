#include "submix/mechanism/baselines/screened.h"

#include <cmath>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/divergence/renyi_divergence.h"
#include "submix/mechanism/dclip.h"
#include "submix/mechanism/filtered_dclip.h"
#include "submix/mechanism/filtered_submix.h"
#include "submix/mechanism/mechanism_maker.h"
#include "submix/mechanism/testing/transcripts.h"

namespace submix::mechanism {
namespace screened_test {

using accounting::FixedNats;
using divergence::RenyiOrder;

MechanismOptions Options(int num_parts, double order, double target_leakage,
                         const ScreenOptions& screen) {
  MechanismOptions options;
  options.name = kScreenedName;
  options.num_parts = num_parts;
  options.order = *RenyiOrder::Create(order);
  options.target_leakage = target_leakage;
  options.screen = screen;
  return options;
}

std::vector<FixedNats> Plenty(std::size_t num_parts) {
  return std::vector<FixedNats>(num_parts, FixedNats::RoundDown(8000));
}

// Theorem 8: e_i = a |w_i|^2 / (2 k^2 sigma^2).
TEST(NoisyScreenTest, ChargesAreThoseOfTheProofs) {
  const SimulatedPredictions predictions({.5, .3, .2}, {{.8, .15, .05}, {.5, .3, .2}});
  const auto screen = *NoisyScreen::Create(Options(2, 2, .1, {.5, .05, 1, 3}));
  const ScreenedQuery query(screen, predictions.view());
  const double squares = .25 * (.3 * .3 + .15 * .15 + .15 * .15);
  EXPECT_NEAR(query.Charge(0).ToNatsRoundedUp(), 2 * squares / (2 * 4 * .0025), 1e-5);
  EXPECT_EQ(query.Charge(1), FixedNats());
  // B4: (lambda / (N sigma))^2 alpha, with the published settings.
  const auto published = *NoisyScreen::Create(Options(50, 18, .1, {1e-4, 1e-2, 4.5, 60}));
  EXPECT_NEAR(published.PublishedNats(), 18 * 4e-8, 1e-18);
  EXPECT_GT(published.WorstCaseNats(), published.PublishedNats());
  EXPECT_LT(published.WorstCaseNats(), 1.1 * published.PublishedNats());
}

TEST(NoisyScreenTest, NoChargeIsAboveTheWorstCase) {
  const auto random = base::MakeSeededRandomSource(1);
  for (int trial = 0; trial < 500; ++trial) {
    const int num_parts = 1 + static_cast<int>(random->NextBelow(5));
    const ScreenOptions options = {NextUnit(*random), std::exp(-2 + 3 * NextUnit(*random)), 1,
                                   1 + static_cast<int>(random->NextBelow(9))};
    const auto screen = *NoisyScreen::Create(Options(num_parts, 8, .1, options),
                                             std::int64_t{1} << random->NextBelow(21));
    std::vector<Pmf> members;
    for (int part = 0; part < num_parts; ++part) members.push_back(RandomPmf(*random, 12, 30));
    members[0][3] = trial % 2 == 0 ? std::nan("") : -1e300;
    const SimulatedPredictions predictions(RandomPmf(*random, 12, 10), members);
    const ScreenedQuery query(screen, predictions.view());
    for (int part = 0; part < num_parts; ++part) {
      ASSERT_LE(query.Charge(part).ToNatsRoundedUp(), screen.WorstCaseNats());
    }
  }
}

// B4: normalising before the noise lets the compared vector move by about 1 / Z, Z its mass on the
// compared tokens. Ours adds noise to what is not normalised: a part's shift is its own, whatever
// the mass.
TEST(NoisyScreenTest, AThinSupportDoesNotStretchAPartsShift) {
  const Pmf public_pmf = {.01, .01, .98};
  const Pmf other = {.012, .008, .98};
  const SimulatedPredictions predictions({.98, .01, .01}, {{.98, .012, .008}, {.98, .01, .01}});
  const auto screen = *NoisyScreen::Create(Options(2, 2, .1, {1, .1, 1, 2}));
  const ScreenedQuery query(screen, predictions.view());
  const double shift = .002;
  EXPECT_NEAR(query.Charge(0).ToNatsRoundedUp(), 2 * shift * shift / (2 * 4 * .01), 1e-8);
  // The published order of steps: normalise the mean on the tokens of mass Z = .02, then add noise.
  const double normalised_shift = .5 * ((.012 / .02) - (.01 / .02));
  EXPECT_GT(normalised_shift, 40 * shift / 2) << "the sensitivity that it does not charge for";
}

TEST(NoisyScreenTest, TheDivergenceIsOfTheClippedAndNormalisedSum) {
  const SimulatedPredictions predictions({.5, .3, .2}, {{.5, .3, .2}});
  const auto screen = *NoisyScreen::Create(Options(1, 2, .1, {1, .5, 1, 2}), 2);  // u = 1/4
  const ScreenedQuery query(screen, predictions.view());
  const Pmf expected = {.5 / .8, .3 / .8};
  EXPECT_NEAR(query.Divergence(std::vector<std::int64_t>{0, 0}), 0, 1e-15);
  EXPECT_NEAR(query.Divergence(std::vector<std::int64_t>{1, 0}),
              divergence::RenyiDivergence(Pmf{.75 / 1.05, .3 / 1.05}, expected, RenyiOrder::Two()),
              1e-12);
  EXPECT_NEAR(query.Divergence(std::vector<std::int64_t>{0, -7}),
              divergence::RenyiDivergence(Pmf{1, 0}, expected, RenyiOrder::Two()), 1e-12);
  EXPECT_EQ(query.Divergence(std::vector<std::int64_t>{-7, -7}), 0);
}

// The law of one coordinate of the noise, far enough out.
std::map<std::int64_t, double> NoiseLaw(std::int64_t deviation) {
  std::map<std::int64_t, double> law;
  double sum = 0;
  const auto variance = static_cast<double>(deviation * deviation);
  for (std::int64_t x = -9 * deviation; x <= 9 * deviation; ++x) {
    law[x] = std::exp(-static_cast<double>(x * x) / (2 * variance));
    sum += law[x];
  }
  for (auto& [x, probability] : law) probability /= sum;
  return law;
}

// How a screened answer comes about with the noise enumerated on a coarse grid: the parts of the
// production mechanism, joined as it joins them.
class ScreenedWorld {
 public:
  ScreenedWorld(const MechanismOptions& options, std::int64_t deviation)
      : options_(options),
        screen_(*NoisyScreen::Create(options, deviation)),
        noise_(NoiseLaw(deviation)) {}

  // Before any token.
  void SetMechanismBehind(const NamedMaker& maker) {
    MechanismOptions behind = options_;
    behind.name = maker.name;
    behind_ = *maker.make(behind);
  }

  std::vector<Branch> operator()(const PartPredictions& predictions, const std::vector<FixedNats>&,
                                 Accounts accounts) {
    const ScreenedQuery query(screen_, predictions);
    std::vector<FixedNats> charges;
    for (int part = 0; part < predictions.num_parts; ++part) {
      charges.push_back(query.Charge(part));
    }
    const std::vector<bool> paid =
        ChargeAccounts(accounting::ChargeRule::kPerPart, charges, accounts);
    const double agrees = ProbabilityOfAgreement(predictions, query, query.Sum(paid));
    std::vector<Branch> branches;
    for (const bool agreed : {true, false}) {
      branches.push_back(
          Answer(predictions, accounts, agreed ? std::vector<bool>(paid.size(), false) : paid));
      branches.back().probability = agreed ? agrees : 1 - agrees;
    }
    return branches;
  }

 private:
  // All that it depends on is the public model and the sum, and those come back in many branches.
  double ProbabilityOfAgreement(const PartPredictions& predictions, const ScreenedQuery& query,
                                const std::vector<std::int64_t>& sum) {
    const Pmf public_pmf(predictions.public_pmf.begin(), predictions.public_pmf.end());
    const auto [entry, is_new] = agreement_.try_emplace({public_pmf, sum}, 0);
    double& agrees = entry->second;
    if (!is_new) return agrees;
    std::vector<std::int64_t> noisy(2);
    for (const auto& [first, p] : noise_) {
      for (const auto& [second, q] : noise_) {
        noisy = {sum[0] + first, sum[1] + second};
        if (query.Divergence(noisy) <= options_.screen.threshold) agrees += p * q;
      }
    }
    return agrees;
  }

  Branch Answer(const PartPredictions& predictions, Accounts accounts,
                const std::vector<bool>& takes_part) const {
    NoRandomness no_randomness;
    std::vector<FixedNats> left;
    for (const auto& account : accounts) left.push_back(account.remaining());
    MaskedProposal proposal(*behind_->Propose(predictions, left, {}), takes_part);
    const auto paid = ChargeAccounts(behind_->charge_rule(), proposal.charges(), accounts);
    return {1, accounts,
            LawOf(std::move(proposal).Mix(paid, no_randomness), predictions.support_size())};
  }

  MechanismOptions options_;
  NoisyScreen screen_;
  std::map<std::int64_t, double> noise_;
  std::map<std::pair<Pmf, std::vector<std::int64_t>>, double> agreement_;
  std::unique_ptr<Mechanism> behind_;
};

TEST(ScreenedTest, WholeTranscriptsStayWithinTheBudget) {
  const auto random = base::MakeSeededRandomSource(2);
  std::pair<NamedMaker, double> largest[] = {{{kFilteredSubmixName, MakeBy<FilteredSubmix>}, 0},
                                             {{kDClipName, MakeBy<DClip>}, 0},
                                             {{kFilteredDClipName, MakeBy<FilteredDClip>}, 0}};
  for (int trial = 0; trial < 8; ++trial) {
    for (const double order : {1.0, 2.0, 8.0}) {
      const std::size_t num_parts = 1 + random->NextBelow(3);
      const double budget = std::exp(-3 + 3 * NextUnit(*random));
      // A screen of about the budget's size, so that it runs out within the transcript.
      const double noise = std::sqrt(order / (budget * (1 + 3 * NextUnit(*random)))) /
                           static_cast<double>(num_parts);
      ScreenedWorld world(Options(static_cast<int>(num_parts), order, budget * NextUnit(*random),
                                  {1, noise, std::exp(-2 + 3 * NextUnit(*random)), 2}),
                          3);
      const Answerer answerer = [&](const PartPredictions& predictions,
                                    const std::vector<FixedNats>& remaining, Accounts accounts) {
        return world(predictions, remaining, std::move(accounts));
      };
      const Policy policy = RandomPolicy(*random, 2, num_parts, 3);
      const auto law_under = [&](const Policy& any) {
        return TranscriptLaw({answerer, any, num_parts, budget, 3}).law();
      };
      for (auto& [behind, share] : largest) {
        world.SetMechanismBehind(behind);
        const double divergence = SymmetricRenyiDivergence(
            law_under(policy), law_under(WithNullPart(policy, 0)), *RenyiOrder::Create(order));
        share = std::max(share, divergence / budget);
      }
    }
  }
  for (const auto& [behind, share] : largest) {
    EXPECT_LE(share, 1 + 1e-9) << behind.name;
    EXPECT_GT(share, .1) << behind.name << ": the search is too weak";
  }
}

// Theorem 8's counterexample: the gate is free, and a part that flips it shows the worlds apart.
TEST(ScreenedTest, AFreeScreenIsNotCovered) {
  const Pmf h0 = {.5, .5};
  const Pmf h = {.9 * .8 + .5 * .2, .1 * .8 + .5 * .2};  // all m = (.9, .1), f = .2
  const Pmf mixture = {.9, .1};
  EXPECT_NEAR(SymmetricRenyiDivergence(mixture, h0, RenyiOrder::Two()), 1.0216512475320, 1e-9);
  EXPECT_NEAR(std::min(RenyiDivergence(mixture, h0, RenyiOrder::Two()),
                       RenyiDivergence(h0, mixture, RenyiOrder::Two())),
              .4946962418361, 1e-9);
}

TEST(ScreenedTest, TheComparisonDecidesWhoAnswers) {
  // A lot of noise against none, on a public model that the ensemble contradicts.
  const SimulatedPredictions predictions({.5, .5}, {{.9, .1}, {.9, .1}, {.9, .1}, {.9, .1}});
  const auto random = base::MakeSeededRandomSource(3);
  const auto answered_by_ensemble = [&](double threshold) {
    const auto mechanism = *Screened::Create(Options(4, 2, 4000, {1, .01, threshold, 2}));
    int ensemble = 0;
    for (int i = 0; i < 200; ++i) {
      auto proposal = *mechanism->Propose(predictions.view(), Plenty(4), {1, 1});
      EXPECT_TRUE(proposal->leads_to_screen());
      PrivateScreen screen = std::move(*proposal).Screen({true, true, true, true});
      proposal = *OperatorView::Open(std::move(screen), *random, Plenty(4), {1, 2});
      EXPECT_FALSE(proposal->leads_to_screen());
      const bool is_free = proposal->charges()[0] == FixedNats();
      const PrivateMixture mixture = std::move(*proposal).Mix({true, true, true, true}, *random);
      EXPECT_EQ(is_free, OperatorView::Probability(mixture, 0) < .51);
      ensemble += is_free ? 0 : 1;
    }
    return ensemble;
  };
  // D_2((.9, .1) || (.5, .5)) is .4947 nats; noise of .01 moves it by about .05.
  EXPECT_EQ(answered_by_ensemble(.1), 200);
  EXPECT_EQ(answered_by_ensemble(.9), 0);
}

TEST(ScreenedTest, WhoDoesNotPayForTheScreenIsAbsentFromTheAnswer) {
  const SimulatedPredictions predictions({.5, .5}, {{.5, .5}, {.99, .01}});
  const auto random = base::MakeSeededRandomSource(4);
  const auto mechanism = *Screened::Create(Options(2, 2, 4000, {1, .5, 0, 2}));
  auto proposal = *mechanism->Propose(predictions.view(), Plenty(2), {1, 1});
  PrivateScreen screen = std::move(*proposal).Screen({true, false});
  EXPECT_EQ(screen.charges()[1], FixedNats());
  proposal = *OperatorView::Open(std::move(screen), *random, Plenty(2), {1, 2});
  EXPECT_EQ(proposal->charges()[1], FixedNats());
  const PrivateMixture mixture = std::move(*proposal).Mix({true, true}, *random);
  EXPECT_NEAR(OperatorView::Probability(mixture, 0), .5, 1e-9);
}

TEST(ScreenedTest, RefusesWhatItCannotCharge) {
  const auto refused = [](const MechanismOptions& options, const char* word) {
    EXPECT_THAT(Screened::Create(options),
                base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr(word)));
  };
  refused(Options(4, HUGE_VAL, 1, {1, 1, 1, 2}), "infinity");
  refused(Options(4, 2, .001, {1, .1, 1, 2}), "leaves nothing");
  refused(Options(4, 2, 1, {0, 1, 1, 2}), "mixing weight");
  refused(Options(4, 2, 1, {1, 0, 1, 2}), "noise scale");
  refused(Options(4, 2, 1, {1, 1, -1, 2}), "threshold");
  refused(Options(4, 2, 1, {1, 1, 1, 0}), "tokens");
  auto options = Options(4, 2, 1, {1, 1, 1, 2});
  options.screened_mechanism = "submix";
  refused(options, "filtered-submix, dclip");
}

}  // namespace screened_test
}  // namespace submix::mechanism
