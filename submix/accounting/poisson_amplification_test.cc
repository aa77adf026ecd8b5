#include "submix/accounting/poisson_amplification.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "submix/accounting/gaussian_rdp.h"
#include "submix/accounting/testing/reference_table.h"
#include "submix/divergence/renyi_divergence.h"

namespace submix::accounting {
namespace poisson_amplification_test {

using divergence::RenyiOrder;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

RenyiOrder Order(int order) { return RenyiOrder::Create(order).value(); }

// The form that holds for every mechanism.
double GeneralForm(const std::function<double(int)>& rdp_at_order, double p, int order) {
  const auto tripled = [&](int k) {
    return rdp_at_order(k) + (k >= 3 ? std::log(3.0) / (k - 1) : 0);
  };
  return std::min(rdp_at_order(order), PoissonAmplifiedRdp(tripled, p, order));
}

TEST(PoissonAmplificationTest, AgreesWithHighPrecision) {
  for (const bool is_general : {false, true}) {
    const auto compute = [&](const ReferenceRecord& record) {
      const auto rdp = [r = record.number(0)](int k) { return GaussianRdp(r, Order(k)); };
      const double p = record.number(1);
      const int order = static_cast<int>(record.number(2));
      return is_general ? GeneralForm(rdp, p, order) : PoissonAmplifiedRdp(rdp, p, order);
    };
    ExpectReferences(is_general ? "general" : "tight", 36, 3, 1e-11, compute);
  }
}

// A mechanism on two outcomes, with the part (present) or without it, subsampled by hand. For it
// the tight form is exact one way and too small the other; the general one covers both.
TEST(PoissonAmplificationTest, TheGeneralFormCoversBothDirectionsWhereTheTightOneFails) {
  const std::vector<double> present = {0.001, 0.999};
  const std::vector<double> absent = {0.5, 0.5};
  bool tight_fails = false;
  for (const double p : {0.01, 0.1, 0.5}) {
    const std::vector<double> mixed = {p * present[0] + (1 - p) * absent[0],
                                       p * present[1] + (1 - p) * absent[1]};
    for (const int order : {2, 3, 8, 32}) {
      const auto rdp = [&](int k) {
        return divergence::SymmetricRenyiDivergence(present, absent, Order(k));
      };
      const auto one_way = [&](int k) {
        return divergence::RenyiDivergence(present, absent, Order(k));
      };
      const double forward = divergence::RenyiDivergence(mixed, absent, Order(order));
      const double backward = divergence::RenyiDivergence(absent, mixed, Order(order));
      EXPECT_NEAR(PoissonAmplifiedRdp(one_way, p, order), forward, 1e-12 * forward);
      tight_fails |= backward > PoissonAmplifiedRdp(one_way, p, order);
      EXPECT_LE(std::max(forward, backward), GeneralForm(rdp, p, order));
    }
  }
  EXPECT_TRUE(tight_fails);
}

TEST(PoissonAmplificationTest, KnowsItsEdges) {
  const auto rdp = [](int k) { return 0.1 * k; };
  EXPECT_EQ(PoissonAmplifiedRdp(rdp, 0, 5), 0);
  EXPECT_EQ(PoissonAmplifiedRdp(rdp, 1, 5), 0.5);
  EXPECT_LE(PoissonAmplifiedRdp(rdp, 1 - 1e-9, 5), 0.5);
  EXPECT_EQ(PoissonAmplifiedRdp(rdp, -0.1, 5), kInfinity);
  EXPECT_EQ(PoissonAmplifiedRdp(rdp, std::nan(""), 5), kInfinity);
  for (const double bad : {std::nan(""), -1.0, kInfinity}) {
    EXPECT_EQ(PoissonAmplifiedRdp([&](int k) { return k == 3 ? bad : 0.1; }, 0.1, 5),
              bad == kInfinity ? 0.1 : kInfinity);
  }
  EXPECT_EQ(PoissonAmplifiedRdp([](int) { return 0.0; }, 0.1, 5), 0);
}

TEST(PoissonAmplificationTest, NeitherFormCostsMoreThanNoSubsampling) {
  for (const double r : {0.01, 0.3, 3.0}) {
    for (double p = 0.01; p < 1; p += 0.07) {
      for (const int order : {2, 3, 18, 64}) {
        const auto rdp = [r](int k) { return GaussianRdp(r, Order(k)); };
        const double tight = PoissonAmplifiedRdp(rdp, p, order);
        const double general = GeneralForm(rdp, p, order);
        EXPECT_LE(tight, general);
        EXPECT_LE(general, rdp(order));
      }
    }
  }
}

}  // namespace poisson_amplification_test
}  // namespace submix::accounting
