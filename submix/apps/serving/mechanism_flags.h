// The options of mechanisms that `submix deploy` and `submix evaluate` take alike.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "submix/base/status.h"
#include "submix/mechanism/mechanism_options.h"

namespace submix::apps {

struct MechanismFlags {
  std::string accounting = "default";
  mechanism::MechanismOptions values;

  // Copies into `options` what these flags set, and nothing else. Errors: kInvalidArgument.
  base::Status Apply(mechanism::MechanismOptions& options) const;
};

// `flags` must outlive the command.
void AddMechanismFlags(CLI::App& command, MechanismFlags& flags);

}  // namespace submix::apps
