// The parts of `submix audit`, each in a file of its own.
#pragma once

#include <CLI/CLI.hpp>

#include "submix/apps/command.h"

namespace submix::apps {

// A lower bound on epsilon from many transcripts.
void AddEpsilonAudit(CLI::App& command, Action& action);

// The same from a few deployments, all parts at once.
void AddOneRunAudit(CLI::App& command, Action& action);

// What clients can time.
void AddTimingAudit(CLI::App& command, Action& action);

}  // namespace submix::apps
