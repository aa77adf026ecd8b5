// The figures and tables of McMahan et al. 2018 (DP-FedAvg): which models are trained, over what
// their accuracy is plotted, what the paper found. Trainings are shared: equal settings are one
// training. Who trains is the caller's affair: this room knows no training.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "submix/accounting/promise.h"
#include "submix/base/status.h"
#include "submix/eval/pages/figure.h"

namespace submix::eval {

// The average update of a round: over the weights of those who took part, over these but q W_min at
// least, or over q W (the paper's f_c and f_f).
enum class UpdateAverage { kTrue, kClippedDivisor, kFixedDivisor };

// Everything in which the trainings of the figures differ.
struct FederatedSetting {
  bool is_fedsgd = false;
  int words = 10000;  // of the dictionary
  std::int64_t rounds = 5000;
  double expected_users = 100;  // a round
  bool fixed_size_sample = false;
  UpdateAverage average = UpdateAverage::kFixedDivisor;
  double clip_norm = std::numeric_limits<double>::infinity();  // S
  bool per_layer = false;
  // z. Above 0: a private training, charged in a ledger.
  double noise_multiplier = 0;
  // Above 0: noise of S over this on every number, that of so many users a round at z = 1. The
  // training itself promises nothing (the paper's estimate of an accuracy too costly to train for).
  double simulated_users = 0;
  // Above 0: goes on from the model that this norm gave in `earlier_rounds`, all else the same.
  double earlier_clip_norm = 0;
  std::int64_t earlier_rounds = 0;

  auto operator<=>(const FederatedSetting&) const = default;
};

// The training that a setting goes on from, if it does.
std::optional<FederatedSetting> EarlierSetting(const FederatedSetting& setting);

// The standard deviation of the noise on every number of the average; 0: none.
double NoiseDeviation(const FederatedSetting& setting);

struct FederatedEvaluation {
  std::int64_t round = 0;
  double accuracy_top1 = 0;           // share of the held-out words
  double smoothed_accuracy_top1 = 0;  // mean of up to five evaluations
  double perplexity = 0;
};

struct FederatedPromise {
  double epsilon = 0;
  double delta = 0;
  accounting::Promise stated = {};  // with everything that must be said with it
};

// Name and value of everything that a training is a function of.
using NamedOptions = std::vector<std::pair<std::string, std::string>>;

struct FederatedRun {
  std::vector<FederatedEvaluation> evaluations = {};  // by rising round, at least one
  std::optional<FederatedPromise> promise = {};       // of a private training
  NamedOptions options = {};
};

// At how many places i of a model's first ten predictions were among the `head` most frequent
// words.
struct HeadWordCounts {
  int head = 0;
  std::array<std::int64_t, 11> places = {};  // [i]
};

// Where the models of the figures come from.
struct FederatedModelSource {
  // Trains, or finds what was trained before.
  std::function<base::StatusOr<FederatedRun>(const FederatedSetting&)> train;
  // Of the model that `train` gave.
  std::function<base::StatusOr<std::vector<HeadWordCounts>>(const FederatedSetting&)> head_words;
};

// How large the trainings are. The paper's is the default.
struct FederatedSize {
  std::int64_t rounds = 5000;
  double users_per_round = 100;  // C~, expected
  // Of Figure 7's private training and of Table 2's own rows.
  double private_users_per_round = 1250;
  int words = 10000;
  double population = 763430;  // more cannot take part in a round
  int every_nth = 1;           // of the values on an axis
};

// What is trained at a size, of which every number is at least 1.
FederatedSetting Unclipped(const FederatedSize& size, double share_of_users = 1);
// No clipping, no noise, a fixed number of users.
FederatedSetting Baseline(const FederatedSize& size);
// Clipped to S with the noise of so many users a round, simulated; 0 users: none.
FederatedSetting Noisy(const FederatedSize& size, double clip_norm, double simulated_users);
FederatedSetting FedSgd(const FederatedSize& size, double clip_norm, double simulated_users);
// Charged in a ledger.
FederatedSetting Private(const FederatedSize& size, bool is_fedsgd);

// "dp-fedavg-fig1" … "dp-fedavg-fig12", "dp-fedavg-table1" … "dp-fedavg-table3".
std::vector<std::string> FederatedNames();

// Whether any training is needed; Table 1 is computed.
bool NeedsTraining(const std::string& name);

// Trains and collects. Errors: kNotFound, listing the names, before anything is trained; those of
// the source.
base::StatusOr<FigurePage> MakeFederatedPage(const std::string& name, const FederatedSize& size,
                                             const FederatedModelSource& source);

}  // namespace submix::eval
