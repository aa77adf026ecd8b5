// Soundness does not depend on this file: it counts processors.
#pragma once

namespace submix::base {

// How many processors this process may run on, by its affinity; at least 1.
int AvailableProcessors();

}  // namespace submix::base
