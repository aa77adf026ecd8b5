// The one table of mechanisms whose guarantee is proven for every data set.
#pragma once

#include <memory>
#include <string>

#include "submix/mechanism/mechanism_maker.h"

namespace submix::mechanism {

// The mechanism of options.name, which is_sound(). Errors: kInvalidArgument for a name that is
// unknown or of a research mechanism (the message lists the known ones), or options out of range.
base::StatusOr<std::unique_ptr<Mechanism>> MakeMechanism(const MechanismOptions& options);

// The names that MakeMechanism knows, separated by commas.
std::string MechanismNames();

}  // namespace submix::mechanism
