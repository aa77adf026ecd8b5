// What a client could estimate: tokens drawn by the hundred thousand, with and without a part, and
// the divergence that their counts prove at a stated confidence. It must not exceed what was
// charged, and must come near enough to catch a charge that is half of what it should be.
#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/divergence/divergence_kernel.h"
#include "submix/mechanism/baselines/pmixed.h"
#include "submix/mechanism/baselines/screened.h"
#include "submix/mechanism/dclip.h"
#include "submix/mechanism/filtered_dclip.h"
#include "submix/mechanism/filtered_submix.h"
#include "submix/mechanism/mechanism_maker.h"
#include "submix/mechanism/operator_view.h"
#include "submix/mechanism/testing/simulated_predictions.h"

namespace submix::mechanism {
namespace empirical_divergence_test {

using accounting::FixedNats;
using divergence::RenyiOrder;

constexpr int kDraws = 400000;
constexpr double kBudget = 6;
// Six intervals a comparison of 4.9 standard deviations each: a false alarm in about 1 of 3 * 10^5
// seeds. The streams are seeded.
constexpr double kDeviations = 4.9;

struct Tokens {
  std::vector<int> counts;
  double largest_charge = 0;  // nats that one token cost part 0, at most
};

// Draws tokens as a deployment would, with enough left that everybody can always pay.
Tokens Draw(const Mechanism& mechanism, const SimulatedPredictions& predictions,
            base::RandomSource& random) {
  const PartPredictions view = predictions.view();
  const auto num_parts = static_cast<std::size_t>(view.num_parts);
  const std::vector<FixedNats> remaining(num_parts, FixedNats::RoundDown(kBudget));
  const std::vector<bool> paid(num_parts, true);
  Tokens tokens{std::vector<int>(view.support_size(), 0)};
  for (int i = 0; i < kDraws; ++i) {
    auto proposal = *mechanism.Propose(view, remaining, {});
    double charge = proposal->charges()[0].ToNatsRoundedUp();
    if (proposal->leads_to_screen()) {
      PrivateScreen screen = std::move(*proposal).Screen(paid);
      proposal = *OperatorView::Open(std::move(screen), random, remaining, {});
      charge += proposal->charges()[0].ToNatsRoundedUp();
    }
    const PrivateMixture mixture = std::move(*proposal).Mix(paid, random);
    ++tokens.counts[OperatorView::Draw(mixture, random)];
    tokens.largest_charge = std::max(tokens.largest_charge, charge);
  }
  return tokens;
}

// A lower bound on D_order(P || Q) from counts: p^a q^(1-a) grows with p and falls with q.
double ProvenDivergence(const std::vector<int>& p, const std::vector<int>& q, double order) {
  const auto bound = [](int count, double sign) {
    const double share = static_cast<double>(count) / kDraws;
    const double width = kDeviations * std::sqrt(share * (1 - share) / kDraws) + 12.0 / kDraws;
    return std::clamp(share + sign * width, 0.0, 1.0);
  };
  double sum = 0;
  for (std::size_t x = 0; x < p.size(); ++x) {
    sum += std::pow(bound(p[x], -1), order) * std::pow(bound(q[x], 1), 1 - order);
  }
  return std::log(sum) / (order - 1);
}

struct World {
  NamedMaker mechanism;
  MechanismOptions options;
  SimulatedPredictions predictions;
  SimulatedPredictions without;  // part 0 replaced by the public model
  double share_to_find;          // of the charge
};

std::vector<World> Worlds() {
  MechanismOptions options;
  options.num_parts = 1;
  options.target_leakage = 1;
  options.max_mixing_weight = 1;
  const Pmf public_pmf = {.6, .4};
  const SimulatedPredictions one(public_pmf, {{.05, .95}});
  const SimulatedPredictions nobody(public_pmf, {public_pmf});
  std::vector<World> worlds;
  const auto add = [&](const NamedMaker& mechanism, double share, const auto& change) {
    World world{mechanism, options, one, nobody, share};
    world.options.name = mechanism.name;
    change(world.options);
    worlds.push_back(world);
  };
  const auto as_is = [](MechanismOptions&) {};
  add({kFilteredSubmixName, MakeBy<FilteredSubmix>}, .9, as_is);
  add({kDClipName, MakeBy<DClip>}, .55, as_is);
  add({kFilteredDClipName, MakeBy<FilteredDClip>}, .55, as_is);
  add({kPMixedName, MakeBy<PMixed>}, .52, [](MechanismOptions& o) {
    o.accounting = ChargeAccounting::kWorstCase;
    o.sampling_probability = .8;
  });
  add({kScreenedName, MakeBy<Screened>}, .3, [](MechanismOptions& o) {
    o.screen = {1, 2.5, .05, 2};
  });
  return worlds;
}

TEST(EmpiricalDivergenceTest, ManyReleasesProveNoMoreThanTheCharge) {
  std::uint64_t seed = 1;
  for (const World& world : Worlds()) {
    const auto random = base::MakeSeededRandomSource(seed++);
    const auto mechanism = *world.mechanism.make(world.options);
    ASSERT_TRUE(mechanism->is_sound()) << world.mechanism.name;
    const Tokens with = Draw(*mechanism, world.predictions, *random);
    const Tokens without = Draw(*mechanism, world.without, *random);
    const double order = world.options.order.value();
    const double proven = std::max(ProvenDivergence(with.counts, without.counts, order),
                                   ProvenDivergence(without.counts, with.counts, order));
    EXPECT_LE(proven, with.largest_charge) << world.mechanism.name;
    EXPECT_GT(proven, world.share_to_find * with.largest_charge)
        << world.mechanism.name << ": a charge of that share would not be caught";
  }
}

}  // namespace empirical_divergence_test
}  // namespace submix::mechanism
