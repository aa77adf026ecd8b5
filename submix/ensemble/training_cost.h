// private_training.json: what a public model cost the users that it was trained on. Format:
// docs/manifest_format.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "submix/base/status.h"
#include "submix/ensemble/manifest.h"

namespace submix::ensemble {

// The file's name, in the directory of the model that it is about.
inline constexpr const char* kTrainingCostFile = "private_training.json";
// The hyper-parameter of an ensemble above such a model that says whose text it was trained on, and
// its value if no user of the ensemble was among them. Anything else: the same users.
inline constexpr const char* kPublicTrainedOn = "public_trained_on";
inline constexpr const char* kOtherUsers = "other-users";

// Steps of the Poisson-subsampled Gaussian mechanism, one unit present or absent.
struct TrainingCost {
  std::string mechanism;     // "dp-sgd", "dp-fedavg"
  bool unit_is_user = true;  // else one document
  double sampling_probability = 0;
  double noise_multiplier = 0;  // 0: trained on private text without noise
  std::int64_t steps = 0;
  // A user without a token of text has no update: one whose records are emptied is one who is
  // absent. Not so where the file does not say it: it was written before that was seen to.
  bool empty_is_absent = true;
};

// The file's content; `epsilon` at `delta` is what these steps cost, for people to read.
std::string TrainingCostJson(const TrainingCost& cost, double epsilon, double delta);

// None if the model has no such file: it is public. Errors: kInvalidArgument naming the field;
// kFailedPrecondition for a newer format, and for a training without noise: nothing can be promised
// to its users, whatever is done with the model.
base::StatusOr<std::optional<TrainingCost>> LoadTrainingCost(const std::string& model_directory);

// Whether an ensemble's public model was trained on private text (Theorem 15).
bool HasTrainedPublicModel(const Manifest& manifest);

}  // namespace submix::ensemble
