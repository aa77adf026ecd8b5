#include "submix/accounting/calculators/dp_fedavg.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "submix/accounting/calculators/rdp_accountant.h"

namespace submix::accounting {
namespace {

constexpr int kLastMomentsOrder = 33;

base::StatusOr<BestConversion> Best(const FedAvgSettings& settings,
                                    std::span<const divergence::RenyiOrder> orders,
                                    ConversionKind kind) {
  if (!(settings.num_users >= 1 && settings.users_per_round > 0 &&
        settings.users_per_round <= settings.num_users && settings.rounds >= 0)) {
    return base::InvalidArgumentError(
        "expected users a round in (0, users] and rounds >= 0, found " +
        std::to_string(settings.users_per_round) + " of " + std::to_string(settings.num_users));
  }
  const PrivacyEvent round = {SubsampledGaussianRun{settings.users_per_round / settings.num_users,
                                                    settings.noise_multiplier},
                              settings.rounds};
  return BestEpsilon(CountRdp({&round, 1}, orders), settings.delta, kind);
}

FedAvgSettings Table1Row(double num_users, double users_per_round, double noise_multiplier) {
  return {num_users, users_per_round, noise_multiplier, 1, FedAvgDelta(num_users)};
}

FedAvgTable2Row Table2Row(double noise_stddev, double clip_norm, double num_users,
                          double users_per_round, double printed_epsilon, double printed_accuracy) {
  const double noise_multiplier = noise_stddev > 0 ? 1 : 0;
  return {noise_stddev,
          clip_norm,
          {num_users, users_per_round, noise_multiplier, 5000, 1e-9},
          printed_epsilon,
          printed_accuracy};
}

}  // namespace

double FixedDivisorSensitivity(const WeightedAverage& average) {
  return average.clip_norm / (average.sampling_probability * average.weight);
}

double ClippedDivisorSensitivity(const WeightedAverage& average) {
  return 2 * FixedDivisorSensitivity(average);
}

double FedAvgDelta(double num_users) { return std::pow(std::max(num_users, 2.0), -1.1); }

base::StatusOr<double> FedAvgEpsilon(const FedAvgSettings& settings) {
  SUBMIX_ASSIGN_OR_RETURN(
      const BestConversion best,
      Best(settings, IntegerOrders(kLastMomentsOrder), ConversionKind::kClassic));
  return best.epsilon;
}

base::StatusOr<BestConversion> FedAvgBestEpsilon(const FedAvgSettings& settings) {
  return Best(settings, DefaultOrders(), ConversionKind::kImproved);
}

std::vector<FedAvgSettings> FedAvgTable1() {
  return {Table1Row(1e5, 1e2, 1), Table1Row(1e6, 1e1, 1), Table1Row(1e6, 1e3, 1),
          Table1Row(1e6, 1e4, 1), Table1Row(1e6, 1e3, 3), Table1Row(1e9, 1e3, 1)};
}

std::vector<FedAvgTable2Row> FedAvgTable2() {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  constexpr double kReddit = 763430;
  return {Table2Row(0, kNone, kReddit, 100, kNone, 17.62),
          Table2Row(.003, 15, kReddit, 5000, 4.634, 17.49),
          Table2Row(.006, 10, kReddit, 1667, 2.314, 17.04),
          Table2Row(.012, 15, kReddit, 1250, 2.038, 16.33),
          Table2Row(.003, 15, 1e8, 5000, 1.152, 17.49),
          Table2Row(.006, 10, 1e8, 1667, 0.991, 17.04),
          Table2Row(.012, 15, 1e8, 1250, 0.987, 16.33)};
}

}  // namespace submix::accounting
