// The one table of mechanisms whose guarantee is proven for every data set.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "submix/base/status.h"
#include "submix/mechanism/mechanism.h"
#include "submix/mechanism/mechanism_options.h"

namespace submix::mechanism {

// Makes a mechanism of its options, or says why it does not.
using MechanismMaker =
    std::function<base::StatusOr<std::unique_ptr<Mechanism>>(const MechanismOptions& options)>;

// The mechanism of options.name, which is_sound(). Errors: kInvalidArgument for a name that is
// unknown or of a research mechanism (the message lists the known ones), or options out of range.
base::StatusOr<std::unique_ptr<Mechanism>> MakeMechanism(const MechanismOptions& options);

// The names that MakeMechanism knows, separated by commas.
std::string MechanismNames();

}  // namespace submix::mechanism
