// The parts of `submix audit`, each in a file of its own.
#pragma once

#include <CLI/CLI.hpp>

#include "submix/apps/command.h"

namespace submix::apps {

// What clients can time.
void AddTimingAudit(CLI::App& command, Action& action);

}  // namespace submix::apps
