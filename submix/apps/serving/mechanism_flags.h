// The options of mechanisms that `submix deploy` and `submix evaluate` take alike.
#pragma once

#include <string>

#include "submix/apps/flags.h"
#include "submix/base/status.h"
#include "submix/mechanism/mechanism_options.h"

namespace submix::apps {

struct MechanismFlags {
  std::string accounting = "default";
  mechanism::MechanismOptions values;

  // Copies into `options` what these flags set, and nothing else. Errors: kInvalidArgument.
  base::Status Apply(mechanism::MechanismOptions& options) const;
};

void AddMechanismFlags(Flags flags, MechanismFlags& mechanism);

}  // namespace submix::apps
