#include "submix/mechanism/submix_charge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/divergence/renyi_divergence.h"
#include "submix/mechanism/testing/exact_charge.h"
#include "submix/mechanism/testing/simulated_predictions.h"

namespace submix::mechanism {
namespace submix_charge_test {

using divergence::RenyiDivergence;
using divergence::RenyiOrder;
using divergence::SymmetricRenyiDivergence;

// The numbers here were computed with 30 digits and are printed to about this.
constexpr double kPrinted = 1e-9;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

RenyiOrder Order(double value) { return *RenyiOrder::Create(value); }

struct ChargeCase {
  int num_parts;
  double floor;
  double order;
  double forward;
  double backward;
};

void ExpectCharge(const Pmf& part_law, const Pmf& public_pmf, const ChargeCase& expected) {
  const DirectedExcess charge =
      ExactCharge(part_law, public_pmf, expected.num_parts, expected.floor, Order(expected.order));
  EXPECT_NEAR(charge.forward, expected.forward, kPrinted)
      << expected.num_parts << " parts, order " << expected.order;
  EXPECT_NEAR(charge.backward, expected.backward, kPrinted)
      << expected.num_parts << " parts, order " << expected.order;
}

TEST(ExactChargeTest, IsTheTableOfThreeTokens) {
  const Pmf public_pmf{.5, .3, .2};
  const Pmf part_law{.65, .225, .125};
  for (const ChargeCase& expected :
       std::vector<ChargeCase>{{1, .5, 1, .047057851946502, .049123215350936},
                               {1, .2, 2, .087896401906184, .099497206158541},
                               {2, .5, 1.5, .020402411194635, .020831826760568},
                               {2, .5, kInfinity, .182321556793955, .287682072451781},
                               {4, .5, 1, .0039634348746608, .0039692748463541},
                               {4, .5, 1.5, .0059382496539328, .0059558468730347},
                               {4, .5, 2, .0079061637585974, .0079416141342875},
                               {4, .5, 8, .030347250842445, .032559264273986},
                               {4, .5, kInfinity, .113328685307003, .162518929497775},
                               {4, .2, 2, .011843648781235, .012088820325376},
                               {64, .5, 2, 3.7286236677819e-5, 3.7250081561677e-5},
                               {64, .2, 8, .00034456401272316, .00034063603455242}}) {
    ExpectCharge(part_law, public_pmf, expected);
  }
}

TEST(ExactChargeTest, IsTheTableOfAThinToken) {
  const Pmf public_pmf{.9, .0999, .0001};
  const Pmf part_law{.85, .0999, .0501};
  for (const ChargeCase& expected :
       std::vector<ChargeCase>{{16, .5, 1, .0098882123526876, .0029179015614952},
                               {16, .5, 1.5, .039308103080171, .003045569523709},
                               {16, .5, 2, .1687667323777, .0030885477612692},
                               {16, .5, 8, 3.2697613550473, .0031654087597134},
                               {16, .5, kInfinity, 4.0913990519923, .0065574005461591}}) {
    ExpectCharge(part_law, public_pmf, expected);
  }
}

TEST(ExactChargeTest, OfOneQueryCanBeMoreThanAnyBudget) {
  ExpectCharge({.5, .5}, {.999, .001}, {2, .5, 2, 4.4315621199043, .28651658635316});
}

// Theorem 3: the same requests charged as this project does, with the maps applied
// before mixing, and what happens to the law if the map is applied after it.
TEST(ExactChargeTest, OfMapsBeforeMixingIsWhatMapsAfterMixingExceed) {
  const RenyiOrder order = RenyiOrder::Two();
  const auto larger = [](const DirectedExcess& charge) { return charge.larger(); };

  const Pmf half{.5, .5};
  EXPECT_NEAR(larger(ExactCharge(Pmf{.75, .25}, half, 8, .5, order)), .0051948168771, kPrinted);
  const double h = .5 + .25 / 8;  // the others answer h0
  const double sharpened = std::pow(h, 4) / (std::pow(h, 4) + std::pow(1 - h, 4));
  EXPECT_NEAR(SymmetricRenyiDivergence(Pmf{sharpened, 1 - sharpened}, half, order), .0620195343276,
              kPrinted);

  const Pmf public_pmf{.98, .01, .01};
  const Pmf part_law{.99 * .98, .99 * .01 + .01, .99 * .01};
  EXPECT_NEAR(larger(ExactCharge(part_law, public_pmf, 8, .5, order)), .000274934776802, kPrinted);
  const double kept = .01 + (part_law[1] - .01) / 8;
  const double other = .01 + (part_law[2] - .01) / 8;
  EXPECT_NEAR(
      SymmetricRenyiDivergence(Pmf{kept / (kept + other), other / (kept + other)}, half, order),
      .0034743923848, kPrinted);
  EXPECT_NEAR(larger(ExactCharge(Pmf{.505, .495}, half, 8, .5, order)), 1.9349863922088e-6,
              kPrinted);
}

TEST(ExactChargeTest, IsZeroForThePublicModelAndForOneToken) {
  for (const double order : {1.0, 1.5, 2.0, 8.0, kInfinity}) {
    const DirectedExcess same = ExactCharge(Pmf{.7, .3}, Pmf{.7, .3}, 3, .4, Order(order));
    EXPECT_EQ(same.larger(), 0) << order;
    EXPECT_EQ(ExactCharge(Pmf{1}, Pmf{1}, 3, .4, Order(order)).larger(), 0) << order;
  }
}

TEST(ExactChargeTest, IsInfiniteWhereAPartAloneLacksSupport) {
  const DirectedExcess charge = ExactCharge(Pmf{1, 0}, Pmf{.5, .5}, 1, 0, RenyiOrder::Two());
  EXPECT_NEAR(charge.forward, std::log(2), 1e-12);
  EXPECT_EQ(charge.backward, kInfinity);
}

// What rounding may take from sums over a large vocabulary is charged, beyond what every charge has
// on top (2^-35): at least the error of the sums, at most what two errors and that come to.
TEST(ShiftExcessTest, TheErrorOfTheSumsIsCharged) {
  constexpr std::size_t kVocabulary = std::size_t{1} << 20;  // error 2.3e-10
  constexpr double kExcess = 10;
  for (const double order : {2.0, 8.0}) {
    const double nats =
        ShiftExcess(Order(order)).ChargeOf({kExcess, 0}, kVocabulary).ToNatsRoundedUp();
    EXPECT_GT(nats, std::log1p(kExcess * (1 + 2e-10)) / (order - 1)) << order;
    EXPECT_LT(nats, std::log1p(kExcess * (1 + 6e-10)) / (order - 1)) << order;
  }
}

// A number that is none, in one direction or in one token: nobody pays, whatever the other says.
TEST(ShiftExcessTest, ANanInOneDirectionIsUnpayable) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const double order : {1.0, 1.5, 2.0, 8.0, kInfinity}) {
    const ShiftExcess kernel(Order(order));
    EXPECT_TRUE(kernel.ChargeOf({.1, .2}, 4).is_payable());
    EXPECT_FALSE(kernel.ChargeOf({.1, kNan}, 4).is_payable()) << order;
    EXPECT_FALSE(kernel.ChargeOf({kNan, .1}, 4).is_payable()) << order;
    for (const std::size_t bad : {0, 1, 8, 19}) {
      const std::vector<double> den(20, 1.0);
      std::vector<double> shift(20, .125);
      std::fill_n(shift.begin(), 10, -.125);
      shift[bad] = kNan;
      EXPECT_FALSE(kernel.ChargeOf(kernel.Of(den, shift, 1, 20), 20).is_payable()) << order;
      const DirectedExcess exact = ExactExcess(den, shift, .5, 20, Order(order));
      EXPECT_TRUE(std::isnan(exact.forward)) << order << ' ' << bad;
      EXPECT_TRUE(std::isnan(exact.backward)) << order << ' ' << bad;
    }
    DirectedLanes lanes;
    lanes.forward[2] = 1;
    lanes.backward[5] = kNan;
    const DirectedExcess excess = kernel.Excess(lanes, 1);
    EXPECT_EQ(excess.forward, 1);
    EXPECT_FALSE(kernel.ChargeOf(excess, 4).is_payable()) << order;
  }
}

TEST(ExactChargeTest, NeverFallsWithTheMixingWeight) {
  const auto random = base::MakeSeededRandomSource(1);
  for (int i = 0; i < 200; ++i) {
    const std::size_t support_size = 2 + random->NextBelow(5);
    const Pmf public_pmf = RandomPmf(*random, support_size, 3);
    const Pmf pmf = RandomPmf(*random, support_size, 6);
    const int num_parts = 1 + static_cast<int>(random->NextBelow(8));
    for (const double order : {1.0, 1.5, 2.0, 8.0, kInfinity}) {
      double before = 0;
      for (double weight = 0; weight <= .8; weight += .1) {
        const double charge =
            ExactCharge(MixPmfs(public_pmf, pmf, weight), public_pmf, num_parts, .2, Order(order))
                .larger();
        ASSERT_GE(charge, before * (1 - 1e-12) - 1e-16) << "case " << i << ", order " << order;
        before = charge;
      }
    }
  }
}

// The claim of Theorem 2: no rest of the ensemble makes the divergence larger, and one makes it as
// large.
TEST(ExactChargeTest, IsTheSupremumOverAdversarialRests) {
  const auto random = base::MakeSeededRandomSource(2);
  for (int i = 0; i < 1500; ++i) {
    const std::size_t support_size = 2 + random->NextBelow(4);
    const int num_parts = 1 + static_cast<int>(random->NextBelow(5));
    const double max_mixing_weight = .1 + .9 * NextUnit(*random);
    const Pmf public_pmf = RandomPmf(*random, support_size, 3);
    const auto mixed = [&](const Pmf& pmf, double weight) {
      return MixPmfs(public_pmf, pmf, weight);
    };
    const Pmf part_law =
        mixed(RandomPmf(*random, support_size, 5), max_mixing_weight * NextUnit(*random));
    for (const double order : {1.0, 1.5, 2.0, 3.0, 8.0, kInfinity}) {
      const DirectedExcess charge =
          ExactCharge(part_law, public_pmf, num_parts, 1 - max_mixing_weight, Order(order));
      DirectedExcess reached;
      // Every vertex (all others fully on one token), then random others.
      for (std::size_t attempt = 0; attempt < support_size + 4; ++attempt) {
        Pmf law = public_pmf;
        Pmf without = public_pmf;
        Pmf others(support_size, 0);
        for (int j = 1; j < num_parts; ++j) {
          Pmf target(support_size, 0);
          if (attempt < support_size) {
            target[attempt] = 1;
          } else {
            target = RandomPmf(*random, support_size, 20);
          }
          const Pmf other = mixed(target, max_mixing_weight);
          for (std::size_t x = 0; x < support_size; ++x) others[x] += other[x];
        }
        for (std::size_t x = 0; x < support_size; ++x) {
          law[x] = (others[x] + part_law[x]) / num_parts;
          without[x] = (others[x] + public_pmf[x]) / num_parts;
        }
        reached.forward = std::max(reached.forward, RenyiDivergence(law, without, Order(order)));
        reached.backward = std::max(reached.backward, RenyiDivergence(without, law, Order(order)));
      }
      const auto close = [&](double sup, double found) {
        const double tolerance = 1e-12 + 1e-9 * sup;
        return found <= sup + tolerance && found >= sup - tolerance;
      };
      ASSERT_TRUE(close(charge.forward, reached.forward) &&
                  close(charge.backward, reached.backward))
          << "case " << i << ", order " << order << ": " << charge.forward << " " << reached.forward
          << " " << charge.backward << " " << reached.backward;
    }
  }
}

// T2b: every part within e^{+-b} of the public model costs at most C(l, u), whatever it does.
double ChordBound(double order, double down, double up) {
  return std::log((down * std::pow(1 + up, order) + up * std::pow(1 - down, order)) / (down + up)) /
         (order - 1);
}

struct BallCase {
  int num_parts;
  double forward, backward, replace;
};

TEST(ExactChargeTest, StaysWithinTheBoundOfTheBall) {
  constexpr double kBall = .5;
  constexpr double kOrder = 2;
  const auto random = base::MakeSeededRandomSource(3);
  for (const BallCase& expected :
       std::vector<BallCase>{{8, .0092332204366, .0088849150030, .0372726714693},
                             {64, .000165999810411, .000164953495477, .000701730304895}}) {
    const double floor = std::exp(-kBall);
    const double c = 1 + (expected.num_parts - 1) * floor;
    const double up = std::expm1(kBall) / c;
    const double down = -std::expm1(-kBall) / c;
    const double forward = ChordBound(kOrder, down, up);
    const double backward = ChordBound(kOrder, 1 - 1 / (1 + up), 1 / (1 - down) - 1);
    EXPECT_NEAR(forward, expected.forward, kPrinted);
    EXPECT_NEAR(backward, expected.backward, kPrinted);
    const double ratio = 1 + std::expm1(2 * kBall) / expected.num_parts;
    EXPECT_NEAR(ChordBound(kOrder, 1 - 1 / ratio, ratio - 1), expected.replace, kPrinted);

    for (int i = 0; i < 300; ++i) {
      const Pmf public_pmf = RandomPmf(*random, 5, 3);
      // Two levels, the largest ball: e^b on a set, and what is left on the others.
      Pmf part_law = public_pmf;
      double raised = 0;
      for (std::size_t x = 0; x < 2; ++x) raised += public_pmf[x];
      const double high = std::min(std::exp(kBall), (1 - std::exp(-kBall) * (1 - raised)) / raised);
      const double low = (1 - high * raised) / (1 - raised);
      for (std::size_t x = 0; x < 5; ++x) part_law[x] *= x < 2 ? high : low;
      const DirectedExcess charge =
          ExactCharge(part_law, public_pmf, expected.num_parts, floor, Order(kOrder));
      EXPECT_LE(charge.forward, forward * (1 + 1e-12));
      EXPECT_LE(charge.backward, backward * (1 + 1e-12));
    }
  }
}

// What the mechanism uses on large supports: sound, and within a trace of the exact charge there.
TEST(ShiftExcessTest, IsTheExactExcessWithoutItsLastTerm) {
  const auto random = base::MakeSeededRandomSource(4);
  for (const std::size_t support_size : {1u, 2u, 7u, 8u, 9u, 500u, 512u}) {
    for (const double order : {1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 64.0, 64.5, kInfinity}) {
      std::vector<double> den(PadToLanes(support_size), 1);
      std::vector<double> shift(PadToLanes(support_size), 0);
      for (std::size_t x = 0; x < support_size; ++x) {
        den[x] = 1 + std::pow(2, 40 * NextUnit(*random));
        shift[x] = (NextUnit(*random) * 1.2 - .4) * den[x];
      }
      const ShiftExcess kernel(Order(order));
      DirectedLanes lanes;
      kernel.Add(den.data(), shift.data(), support_size, lanes);
      const DirectedExcess actual = kernel.Excess(lanes, 1);
      const DirectedExcess exact =
          ExactExcess(std::span(den).first(support_size), std::span(shift).first(support_size), 0,
                      1, Order(order));
      EXPECT_NEAR(actual.forward, exact.forward, 1e-12 * exact.forward) << order;
      EXPECT_NEAR(actual.backward, exact.backward, 1e-12 * exact.backward) << order;
    }
  }
}

TEST(ShiftExcessTest, NatsAndExcessAreInverse) {
  for (const double order : {1.0, 1.5, 2.0, 8.0, kInfinity}) {
    const ShiftExcess kernel(Order(order));
    for (const double nats : {0.0, 1e-9, 1e-3, 1.0, 20.0}) {
      EXPECT_NEAR(kernel.Nats(kernel.FromNats(nats)), nats, 1e-14 * nats) << order;
    }
    EXPECT_EQ(kernel.Nats(std::numeric_limits<double>::quiet_NaN()), kInfinity);
    EXPECT_EQ(kernel.Nats(kInfinity), kInfinity);
  }
}

}  // namespace submix_charge_test
}  // namespace submix::mechanism
