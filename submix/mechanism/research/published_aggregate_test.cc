#include "submix/mechanism/research/published_aggregate.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "submix/accounting/calculators/laplace_rdp.h"
#include "submix/mechanism/testing/simulated_predictions.h"

namespace submix::mechanism {
namespace published_aggregate_test {

using accounting::FixedNats;
using accounting::LaplaceRdp;
using divergence::RenyiOrder;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kOrders[] = {1, 1.5, 2, 8, 18, kInfinity};
constexpr double kUnit = static_cast<double>(SampleAndAggregate::kPartWeight);

RenyiOrder Order(double value) { return *RenyiOrder::Create(value); }

MechanismOptions Options(double order) {
  MechanismOptions options;
  options.num_parts = 4;
  options.order = Order(order);
  options.target_leakage = .01;
  return options;
}

std::unique_ptr<PublishedAggregate> Published(double order) {
  MechanismOptions options = Options(order);
  options.accounting = ChargeAccounting::kPublished;
  return *PublishedAggregate::Create(options);
}

std::unique_ptr<SampleAndAggregate> Sound(double order) {
  return *SampleAndAggregate::Create(Options(order));
}

// The divergence of the noisy sums, if a part's pmf of weight 1 moves by these shares of it:
// coordinates are independent, so their divergences add up.
double NoisySumNats(const std::vector<double>& moves, double noise_scale, RenyiOrder order) {
  double nats = 0;
  for (const double move : moves) nats += LaplaceRdp(std::abs(move) * kUnit / noise_scale, order);
  return nats;
}

// The paper's sensitivity: the noise is half as large as it must be.
TEST(PublishedAggregateTest, ThePublishedSensitivityIsHalfTheTrueOne) {
  for (const double order : kOrders) {
    const auto published = Published(order);
    EXPECT_FALSE(published->is_sound());
    EXPECT_FALSE(published->Statement(FixedNats::RoundDown(1)).proven);
    const SimulatedPredictions predictions({1}, {{1}, {1}, {1}, {1}});
    const auto proposal = *published->Propose(predictions.view(), std::vector<FixedNats>(4), {});
    const double charge = proposal->charges()[0].ToNatsRoundedUp();
    const double scale = static_cast<double>(published->noise_scale());
    EXPECT_NEAR(NoisySumNats({1, -1}, scale, Order(order)), 2 * charge, 1e-6);
    EXPECT_LT(published->noise_scale(), Sound(order)->noise_scale());
  }
  // Pure privacy needs exactly twice the noise.
  EXPECT_NEAR(static_cast<double>(Sound(kInfinity)->noise_scale()),
              2 * static_cast<double>(Published(kInfinity)->noise_scale()), 2);
}

}  // namespace published_aggregate_test
}  // namespace submix::mechanism
