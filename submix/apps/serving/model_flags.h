// What runs the models: flags of all commands that ask them.
#pragma once

#include "submix/apps/flags.h"
#include "submix/workbench/models/model_options.h"

namespace submix::apps {

extern const CLI::Validator kPredictor;  // of workbench::kPredictorNames

void AddModelFlags(Flags flags, workbench::ModelOptions& models);

}  // namespace submix::apps
