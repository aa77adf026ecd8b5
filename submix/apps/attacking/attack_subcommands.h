// The subcommands of `submix attack`, each in a file of its own name.
#pragma once

#include "submix/apps/command.h"

namespace submix::apps {

void AddExtractionAttack(CLI::App& attack, Action& action);
void AddExposureAttack(CLI::App& attack, Action& action);
void AddTargetedAttack(CLI::App& attack, Action& action);
void AddMembershipAttack(CLI::App& attack, Action& action);

}  // namespace submix::apps
