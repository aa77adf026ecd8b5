// The sub-commands of `submix account` for mechanisms that are counted: the same run a number of
// times, fixed beforehand. NAME says what a number costs, `plan NAME` also how many an epsilon
// buys.
#pragma once

#include "submix/apps/command.h"

namespace submix::apps {

void AddCountedSubcommands(CLI::App& account, Action& action);

}  // namespace submix::apps
