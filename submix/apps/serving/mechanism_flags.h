// The options of mechanisms that `submix deploy` and `submix evaluate` take alike.
#pragma once

#include <optional>
#include <string>

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

// To whom --epsilon is promised, "part" or "user" (or several of them), and the delta that goes
// with it.
template <typename Unit>
void AddPromiseFlags(Flags flags, Unit& unit, double& delta) {
  flags.Add("--unit", unit, OneOf({"part", "user"}),
            "To whom --epsilon is promised. A user's records may be added, removed or changed: the "
            "budget of a part that keeps this is found, of one user (--epsilon, --delta) or, with "
            "--order, nats at that order");
  flags.Add("--delta", delta, kDelta,
            "Of every (epsilon, delta) that is said; well below 1 / users");
}

void AddMechanismFlags(Flags flags, MechanismFlags& mechanism);

}  // namespace submix::apps
