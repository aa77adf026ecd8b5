// Counts every allocation of the program it is linked into.
#pragma once

#include <cstdint>
#include <optional>

namespace submix {

// By operator new, all threads, since the start; nothing if they cannot be counted.
std::optional<std::int64_t> AllocationsSoFar();

}  // namespace submix
