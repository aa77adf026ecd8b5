// One training of the word-level LSTM as a figure of McMahan et al. 2018 needs it, and what came
// out of it. Who trains is the caller's affair: this room knows no training.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "submix/accounting/promise.h"
#include "submix/base/status.h"

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

// "S = 10, noise 0.006": as people read it.
std::string ClippingAndNoise(const FederatedSetting& setting);

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

using FederatedRuns = std::map<FederatedSetting, FederatedRun>;

// The evaluation after so many rounds: the last one not later, else the first.
const FederatedEvaluation& EvaluationAt(const FederatedRun& run, double round);

// What a run promises, in a line: nothing and why, or its epsilon with unit and delta.
std::string PromiseOf(const FederatedSetting& setting, const FederatedRun& run);

// At how many places i of a model's first ten predictions were among the `head` most frequent
// words.
struct HeadWordCounts {
  int head = 0;
  std::array<std::int64_t, 11> places = {};  // [i]
};

// What figures need from the outside.
struct FederatedWorkshop {
  // Trains, or finds what was trained before.
  std::function<base::StatusOr<FederatedRun>(const FederatedSetting&)> train;
  // Of the model that `train` gave.
  std::function<base::StatusOr<std::vector<HeadWordCounts>>(const FederatedSetting&)> head_words;
};

}  // namespace submix::eval
