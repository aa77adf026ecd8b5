// DP-FedAvg and DP-FedSGD (McMahan, Ramage, Talwar and Zhang 2018, "Learning Differentially Private
// Recurrent Language Models"): sensitivities of the weighted averages, and the moments accountant
// of its tables. Unit: one user, added or removed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "submix/accounting/rdp_conversion.h"
#include "submix/base/status.h"

namespace submix::accounting {

// What Lemma 1 is about. Weights w_k are in [0, 1]; every user takes part with probability q.
struct WeightedAverage {
  double clip_norm = 1;             // S
  double sampling_probability = 1;  // q
  // W, the sum of all users' weights, for the fixed divisor; W_min for the clipped one. Public:
  // under add and remove the sum itself depends on the data.
  double weight = 1;
};

// Of sum w_k D_k / (q W), in L2: S / (q W), if every |w_k D_k| <= S.
double FixedDivisorSensitivity(const WeightedAverage& average);

// Of sum w_k D_k / max(q W_min, sum w_k): 2 S / (q W_min), if every |D_k| <= S and w_k <= 1, which
// is what the algorithm's clipping gives. That |w_k D_k| <= S alone, as the lemma has it, is not
// enough: many users of small weight w can make the average as long as S / w.
double ClippedDivisorSensitivity(const WeightedAverage& average);

// The papers' choice of delta: users^-1.1 (Table 1), of two users at least.
double FedAvgDelta(double num_users);

struct FedAvgSettings {
  double num_users = 1;         // K
  double users_per_round = 1;   // expected, C~; the sampling probability is C~ / K
  double noise_multiplier = 1;  // z: noise of z times the sensitivity; 0 gives infinity
  std::int64_t rounds = 1;
  double delta = 1e-9;
};

// The papers' moments accountant: orders 2 … 33 (moments to 32), classic conversion. Errors:
// kInvalidArgument.
base::StatusOr<double> FedAvgEpsilon(const FedAvgSettings& settings);
// The same settings at the best of DefaultOrders(), improved conversion: less, and as valid.
base::StatusOr<BestConversion> FedAvgBestEpsilon(const FedAvgSettings& settings);

// The settings behind the paper's tables, as reconstructed (they are not printed).
inline constexpr std::array<std::int64_t, 7> kTable1Rounds = {1,     10,     100,    1000,
                                                              10000, 100000, 1000000};
// What the paper prints, a row an element of FedAvgTable1.
inline constexpr std::array<std::array<double, 7>, 6> kTable1Printed = {
    {{0.97, 0.98, 1.00, 1.07, 1.18, 2.21, 7.50},
     {0.68, 0.69, 0.69, 0.69, 0.69, 0.72, 0.73},
     {1.17, 1.17, 1.20, 1.28, 1.39, 2.44, 8.13},
     {1.73, 1.92, 2.08, 3.06, 8.49, 32.38, 187.01},
     {0.47, 0.47, 0.48, 0.48, 0.49, 0.67, 1.95},
     {0.84, 0.84, 0.84, 0.85, 0.88, 0.88, 0.88}}};
// One element a row; `rounds` is left at 1. delta = K^-1.1.
std::vector<FedAvgSettings> FedAvgTable1();

struct FedAvgTable2Row {
  double noise_stddev = 0;      // of the noise on the average: z S / C~
  double clip_norm = 0;         // S; infinity: none
  FedAvgSettings settings;      // z = 1, 5,000 rounds, delta 1e-9; z = 0 in the first row
  double printed_epsilon = 0;   // infinity in the first row
  double printed_accuracy = 0;  // AccuracyTop1, %
};
std::vector<FedAvgTable2Row> FedAvgTable2();

}  // namespace submix::accounting
