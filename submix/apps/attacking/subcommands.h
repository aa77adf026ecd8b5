// The subcommands of `submix attack` and `submix audit`, each in a file of its own.
#pragma once

#include "submix/apps/command.h"

namespace submix::apps {

void AddExtractionAttack(CLI::App& attack, Action& action);
void AddExposureAttack(CLI::App& attack, Action& action);
void AddTargetedAttack(CLI::App& attack, Action& action);
void AddMembershipAttack(CLI::App& attack, Action& action);

void AddEpsilonAudit(CLI::App& audit, Action& action);
void AddOneRunAudit(CLI::App& audit, Action& action);
void AddTimingAudit(CLI::App& audit, Action& action);

}  // namespace submix::apps
