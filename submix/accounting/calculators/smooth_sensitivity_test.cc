#include "submix/accounting/calculators/smooth_sensitivity.h"

#include <cmath>
#include <map>
#include <set>

#include "submix/accounting/calculators/gnmax_rdp.h"
#include "submix/accounting/testing/reference_table.h"
#include "submix/base/testing/status_matchers.h"

namespace submix::accounting {
namespace smooth_sensitivity_test {

using base::StatusCode;
using base::StatusIs;
using divergence::RenyiOrder;
using ::testing::HasSubstr;

using Votes = std::vector<double>;

double Cost(const Votes& votes, double scale, RenyiOrder order) {
  return GnmaxMonotoneRdp(GnmaxLogErrorBound(votes, scale), scale, order);
}

// All histograms that differ by one changed vote.
std::vector<Votes> Neighbours(const Votes& votes) {
  std::vector<Votes> neighbours;
  for (std::size_t from = 0; from < votes.size(); ++from) {
    for (std::size_t to = 0; to < votes.size(); ++to) {
      if (from == to || votes[from] == 0) continue;
      neighbours.push_back(votes);
      --neighbours.back()[from];
      ++neighbours.back()[to];
    }
  }
  return neighbours;
}

double TrueLocalSensitivity(const Votes& votes, double scale, RenyiOrder order) {
  double largest = 0;
  for (const Votes& neighbour : Neighbours(votes)) {
    largest =
        std::max(largest, std::abs(Cost(votes, scale, order) - Cost(neighbour, scale, order)));
  }
  return largest;
}

// Local sensitivity at every distance, by walking all histograms.
std::vector<double> TrueLocalSensitivities(const Votes& start, double scale, RenyiOrder order,
                                           int num_parts) {
  std::map<Votes, double> known;
  std::set<Votes> reached = {start};
  std::vector<double> sensitivities;
  double largest = 0;
  for (int d = 0; d <= num_parts; ++d) {
    std::set<Votes> next = reached;
    for (const Votes& votes : reached) {
      const auto [place, is_new] = known.try_emplace(votes, 0.0);
      if (is_new) place->second = TrueLocalSensitivity(votes, scale, order);
      largest = std::max(largest, place->second);
      for (const Votes& neighbour : Neighbours(votes)) next.insert(neighbour);
    }
    sensitivities.push_back(largest);
    reached = next;
  }
  return sensitivities;
}

TEST(SmoothSensitivityTest, CoversTheTrueLocalSensitivityAtEveryDistance) {
  constexpr int kParts = 12;
  bool useful = false;
  for (const Votes& start : {Votes{12, 0, 0}, Votes{9, 3, 0}, Votes{6, 6, 0}, Votes{4, 4, 4},
                             Votes{12, 0}, Votes{7, 5}}) {
    for (const double scale : {0.7, 1.5, 4.0}) {
      for (const double order_value : {1.2, 2.0, 4.0}) {
        const RenyiOrder order = RenyiOrder::Create(order_value).value();
        const auto bounds = GnmaxLocalSensitivities(start, scale, order, kParts);
        const auto truths = TrueLocalSensitivities(start, scale, order, kParts);
        ASSERT_EQ(bounds.size(), truths.size());
        for (int d = 0; d <= kParts; ++d) {
          EXPECT_GE(bounds[d], truths[d]) << d << " " << scale << " " << order_value;
        }
        useful |= truths[0] > 0 && bounds[0] < 0.01 * GnmaxRdp(scale, order);
      }
    }
  }
  EXPECT_TRUE(useful);  // not all of them the worst case
}

TEST(SmoothSensitivityTest, IsSmooth) {
  constexpr int kParts = 12;
  constexpr double kBeta = 0.1;
  const RenyiOrder order = RenyiOrder::Two();
  const auto smooth = [&](const Votes& votes) {
    return SmoothSensitivity(GnmaxLocalSensitivities(votes, 1.5, order, kParts), kBeta);
  };
  for (const Votes& votes : {Votes{12, 0, 0}, Votes{10, 2, 0}, Votes{8, 4, 0}, Votes{6, 6, 0}}) {
    for (const Votes& neighbour : Neighbours(votes)) {
      EXPECT_LE(smooth(votes), std::exp(kBeta) * smooth(neighbour) * (1 + 1e-14));
    }
  }
}

TEST(SmoothSensitivityTest, TheMonotoneCostIsNearTheBestChoice) {
  for (const double scale : {2.0, 10.0}) {
    for (const double winner : {20.0, 60.0, 200.0}) {
      const Votes votes = {winner, 3, 1, 0, 0};
      const double best = GnmaxDataDependentRdp(votes, scale, RenyiOrder::Two());
      EXPECT_GE(Cost(votes, scale, RenyiOrder::Two()), best * (1 - 1e-2));
      EXPECT_LE(Cost(votes, scale, RenyiOrder::Two()), best * 1.5);
    }
  }
  double last = 0;
  for (double log_error = -300; log_error < 0; log_error += 0.21) {
    const double rdp = GnmaxMonotoneRdp(log_error, 5, RenyiOrder::Two());
    EXPECT_GE(rdp, last * (1 - 1e-12));
    last = rdp;
  }
}

TEST(SmoothSensitivityTest, KnowsItsEdges) {
  const Votes lone = {5};
  EXPECT_EQ(GnmaxLocalSensitivities(lone, 2, RenyiOrder::Two(), 3), std::vector<double>(4, 0.0));
  const std::vector<double> sensitivities = {1, 5, 6};
  EXPECT_DOUBLE_EQ(SmoothSensitivity(sensitivities, 0.5), 5 * std::exp(-0.5));
}

TEST(SmoothReleaseTest, AgreesWithTheDivergenceOfTwoGaussians) {
  ExpectReferences("smooth-release", 6, 3, 1e-10, [](const ReferenceRecord& record) {
    return SmoothReleaseRdp({record.number(0), record.number(1)}, record.order(2)).value();
  });
}

// D_a(N(m, s^2) || N(0, (r s)^2)) over everything that a beta-smooth bound allows.
TEST(SmoothReleaseTest, IsTheSupremumOverTheScales) {
  for (const double beta : {0.001, 0.02, 0.2}) {
    for (const double s : {1.0, 10.0, 200.0}) {
      for (const double share : {0.01, 0.5, 0.97}) {
        const double limit = 1 / -std::expm1(-2 * beta);
        const double a = 1 + share * (limit - 1);
        const double rdp = SmoothReleaseRdp({beta, s}, RenyiOrder::Create(a).value()).value();
        for (double u = -beta; u <= beta; u += beta / 20) {
          const double r = std::exp(u);
          const double m = std::min(1.0, r);
          const double v = a * r * r + 1 - a;
          const double divergence =
              a * m * m / (2 * s * s * v) + (a * u - std::log(v) / 2) / (a - 1);
          EXPECT_LE(divergence, rdp * (1 + 1e-9));
        }
      }
    }
  }
}

// The published formula is below the divergence at the setting of the authors' programs.
TEST(SmoothReleaseTest, ThePublishedCostIsTooSmall) {
  const RenyiOrder order = RenyiOrder::Create(20).value();
  const SmoothRelease release = {0.49 / 20, 5};
  EXPECT_NEAR(SmoothReleaseRdpAsPublished(release, order).value(), 0.96891373, 1e-8);
  EXPECT_NEAR(SmoothReleaseRdp(release, order).value(), 8.787718475, 1e-8);
}

TEST(SmoothReleaseTest, RefusesOrdersAtWhichTheCostIsInfinite) {
  for (const double order : {1.0, 60.0}) {
    EXPECT_THAT(SmoothReleaseRdp({0.01, 5}, RenyiOrder::Create(order).value()),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("order between 1 and 50.5")));
    EXPECT_THAT(SmoothReleaseRdpAsPublished({0.01, 5}, RenyiOrder::Create(order).value()),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("order between 1 and 50.0")));
  }
  EXPECT_THAT(SmoothReleaseRdp({0, 5}, RenyiOrder::Two()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("beta")));
  EXPECT_THAT(SmoothReleaseRdp({0.01, std::nan("")}, RenyiOrder::Two()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("noise")));
}

}  // namespace smooth_sensitivity_test
}  // namespace submix::accounting
