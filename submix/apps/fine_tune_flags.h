// The options of fine-tuning on a command line, shared by the commands that train.
#pragma once

#include <memory>

#include <CLI/CLI.hpp>

#include "submix/train/fine_tune.h"

namespace submix::apps {

// What the flags fill in.
struct FineTuneFlags {
  train::FineTuneOptions options;
  bool full = false;
  int top_layers = 0;
  std::string precision = "bf16";
};

void AddFineTuneFlags(CLI::App& command, FineTuneFlags& flags);

// The options that the flags say; `layers` is the public model's number of layers. Errors:
// kInvalidArgument.
base::StatusOr<train::FineTuneOptions> FineTuneOptionsOf(const FineTuneFlags& flags, int layers);

}  // namespace submix::apps
