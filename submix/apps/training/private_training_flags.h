// The options of `submix train --private`, and what it prints.
#pragma once

#include <string>

#include "submix/apps/flags.h"
#include "submix/train/fine_tuning/ensemble_training.h"
#include "submix/train/private_training/private_training.h"

namespace submix::apps {

struct PrivateTrainingFlags {
  std::string mechanism;  // empty: no private training
  std::string unit = "user";
  train::PrivateTrainingOptions options;
  bool json = false;
};

// Adds them to `submix train`, which has its other options.
void AddPrivateTrainingFlags(CLI::App& command, PrivateTrainingFlags& training);

// `training.fine_tune` says model, rate and blocks; one part, one member.
train::PrivateTrainingOptions PrivateTrainingOptionsOf(
    const PrivateTrainingFlags& flags, const train::EnsembleTrainingOptions& training);

// Trains and prints the statement. An interrupt (Ctrl-C) ends it after the step at hand, with a
// checkpoint.
base::Status RunPrivateTraining(const train::PrivateTrainingOptions& options, bool json);

}  // namespace submix::apps
