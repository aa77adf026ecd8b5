// Counts every allocation of the program it is linked into.
#pragma once

#include <cstdint>

namespace submix {

// By operator new, all threads, since the start.
std::int64_t AllocationsSoFar();

}  // namespace submix
