// The one table of mechanisms whose guarantee is proven for every data set.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "submix/base/status.h"
#include "submix/mechanism/mechanism.h"
#include "submix/mechanism/mechanism_options.h"

namespace submix::mechanism {

// Makes a mechanism of its options, or says why it does not.
using MechanismMaker =
    std::function<base::StatusOr<std::unique_ptr<Mechanism>>(const MechanismOptions& options)>;

// By the mechanism's own Create, which returns its own type.
template <typename T>
base::StatusOr<std::unique_ptr<Mechanism>> MakeBy(const MechanismOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(std::unique_ptr<T> mechanism, T::Create(options));
  return std::unique_ptr<Mechanism>(std::move(mechanism));
}

// The mechanism of options.name, which is_sound(). Errors: kInvalidArgument for a name that is
// unknown or of a research mechanism (the message lists the known ones), or options out of range.
base::StatusOr<std::unique_ptr<Mechanism>> MakeMechanism(const MechanismOptions& options);

// The names that MakeMechanism knows, separated by commas.
std::string MechanismNames();

}  // namespace submix::mechanism
