// All mechanisms: those proven for every data set, and those that are research, whose guarantee is
// not. For evaluation, attacks and figures, and for deployments that declare research.
#pragma once

#include <memory>
#include <string>

#include "submix/mechanism/mechanism_maker.h"

namespace submix::mechanism {

// The mechanism of options.name and options.accounting. Errors: kInvalidArgument for an unknown
// name (the message lists the known ones) or options out of range.
base::StatusOr<std::unique_ptr<Mechanism>> MakeAnyMechanism(const MechanismOptions& options);

// The names that MakeAnyMechanism knows, separated by commas.
std::string AnyMechanismNames();

}  // namespace submix::mechanism
