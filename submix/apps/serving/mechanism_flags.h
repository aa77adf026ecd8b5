// The options of mechanisms that `submix deploy` and `submix evaluate` take alike.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "submix/apps/flags.h"
#include "submix/base/status.h"
#include "submix/mechanism/mechanism_options.h"

namespace submix::apps {

struct MechanismFlags {
  std::string accounting = "default";
  mechanism::MechanismOptions values;
  // Instead of what is recommended.
  std::optional<double> clip_stretch;
  std::optional<double> clip_centre;

  // Copies into `options` what these flags set, and nothing else. Errors: kInvalidArgument.
  base::Status Apply(mechanism::MechanismOptions& options) const;
};

// To whom --epsilon is promised, "part" or "user", and the delta that goes with it.
void AddPromiseFlags(Flags flags, std::vector<std::string>& units, double& delta);
void AddPromiseFlags(Flags flags, std::string& unit, double& delta);

void AddMechanismFlags(Flags flags, MechanismFlags& mechanism);

}  // namespace submix::apps
