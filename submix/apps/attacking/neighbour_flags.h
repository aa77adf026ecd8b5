// The two worlds that `submix attack membership` and `submix audit epsilon` tell apart.
#pragma once

#include "submix/apps/flags.h"
#include "submix/workbench/attacking/neighbouring_worlds.h"

namespace submix::apps {

void AddNeighbourFlags(Flags flags, workbench::NeighbourRequest& neighbours);

}  // namespace submix::apps
