// DP-FedAvg and DP-FedSGD (McMahan et al. 2018, Algorithm 1): rounds in which a random sample of
// the users trains the shared model, each a little and clipped, and the model moves by the noisy
// average. Torch-free.
//
// Private are the users' texts, who took part in a round, and how many. The model after any round
// is what the epsilon of docs/privacy.md (Theorem 13) is about.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "submix/accounting/privacy_statement.h"
#include "submix/base/ids.h"
#include "submix/base/progress_bar.h"
#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/train/federated/federated_model.h"
#include "submix/train/federated/local_pass.h"
#include "submix/train/federated/prediction_metrics.h"
#include "submix/train/kernels/ranks.h"
#include "submix/train/sampled_gaussian/clipped_sum.h"

namespace submix::train {

// From this round on (the first is 1) another clipping norm, and perhaps another noise. With the
// same noise multiplier a smaller norm means less noise and the same price (the paper's Figure 4).
struct ScheduleChange {
  std::int64_t round = 1;
  double clip_norm = 1;
  std::optional<double> noise_multiplier;  // none: as before
};

// What a round is done with in an experiment about the algorithm, outside every guarantee.
struct SimulatedRounds {
  // Noise on every number of the average, as a share of the clipping norm: that of a private
  // training with z / share users a round (the paper's estimate of its accuracy). 0: none.
  double noise_of_clip = 0;
  // A round has exactly q times the number of users, rounded, each set of so many equally likely.
  // The accountant is for users who take part independently and has no price for this.
  bool fixed_size_sample = false;

  bool operator==(const SimulatedRounds&) const = default;
};

struct FederatedOptions {
  std::string directory;  // made if missing; for its owner alone: it says who was trained on
  LocalTraining local;
  UpdateClipping clipping = {.norm = 15};
  AverageEstimator estimator;   // its weight W is the number of users that the training counts on
  double noise_multiplier = 1;  // z; 0: no privacy, no ledger
  // For experiments, with noise_multiplier 0; nothing is charged and nothing is promised.
  SimulatedRounds simulated;
  std::vector<ScheduleChange> schedule;  // by rising round
  // w^: a user with n tokens weighs min(n / w^, 1).
  std::int64_t full_weight_tokens = 1600;
  std::int64_t rounds = 1;  // until so many are done; a later call may ask for more
  double delta = 1e-6;
  // A budget: training ends before the round that would pass it. Fixed by the first call.
  std::optional<double> target_epsilon;
  std::int64_t evaluate_every = 20;  // rounds; the last round is always evaluated
  int threads = 0;                   // 0: one a processor; results do not depend on it
  // Whom the users of a round are spread over: this process is the root, the others are in
  // ServeClientUpdates (client_updates.h). Null: this process alone. Results do not depend on it.
  Ranks* ranks = nullptr;
  std::function<bool()> should_stop;  // polled before every round
};

struct FederatedData {
  const FederatedModel* model = nullptr;
  std::span<const float> start;  // its parameters before the first round; read if there is none yet
  std::span<const std::vector<base::TokenId>> users;    // none empty
  std::span<const std::vector<base::TokenId>> heldout;  // of other users
  std::string
      source;  // words that name model and data, for the check that a run goes on as it began
};

// For the operator: `users` is private.
struct RoundReport {
  std::int64_t round = 0;
  std::int64_t users = 0;
  double epsilon = 0;  // infinity without noise
  std::optional<PredictionMetrics> heldout;
  double smoothed_accuracy_top1 = 0;  // mean of the last (up to) five evaluations; with `heldout`
};

struct FederatedResult {
  std::int64_t rounds = 0;
  std::int64_t rounds_charged = 0;  // lost ones among them; 0 without noise
  bool target_reached = false;      // the next round would have passed the target
  std::vector<float> parameters;
  double epsilon = 0;
  std::optional<accounting::PrivacyStatement> statement;  // none without noise
};

// Trains, or goes on from the directory's checkpoint, which is written after every round. Who takes
// part and all noise come from `random`; nothing else is random. Errors: kInvalidArgument for
// options out of range; kFailedPrecondition for a checkpoint of another training, and for
// parameters that are not finite, after which no further round is charged; kUnavailable if another
// process trains in the directory, or should_stop said so; kResourceExhausted if there is no target
// and no ledger can hold what a round costs; those of the ledger, of files and of libtorch. After
// success the other ranks are dismissed; after an error they wait, and are to be ended.
base::StatusOr<FederatedResult> TrainFederated(
    const FederatedOptions& options, const FederatedData& data, base::RandomSource& random,
    base::ProgressStyle progress,
    const std::function<base::Status(const RoundReport&)>& round_sink);

}  // namespace submix::train
