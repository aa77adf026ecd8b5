// How much memory there is for this process.
#pragma once

#include <cstddef>
#include <string>

namespace submix::base {

// The machine's memory in bytes, or what the control groups of this process (Linux's cgroups, of
// both versions) allow where that is less. Another `root` for tests. Thread-safe.
std::size_t MemoryLimit(const std::string& root = "");

}  // namespace submix::base
