#include "submix/base/memory_limit.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>

#include <unistd.h>

#include "submix/base/file_system.h"

namespace submix::base {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

std::size_t LimitIn(const std::string& file) {
  const auto text = ReadFile(file);
  std::size_t bytes = kNone;
  if (!text.ok()) return kNone;
  // "max" is no number, and no limit.
  const auto read = std::from_chars(text->data(), text->data() + text->size(), bytes);
  return read.ec == std::errc() ? bytes : kNone;
}

// A group has no more than those above it. In a container the files of its own group are at the
// top, whatever the path says.
std::size_t LeastOnTheWayUp(const std::string& top, std::string group, const char* file) {
  std::size_t least = kNone;
  while (true) {
    least = std::min(least, LimitIn(top + group + "/" + file));
    if (group.empty()) return least;
    group.resize(group.rfind('/'));
  }
}

}  // namespace

std::size_t MemoryLimit(const std::string& root) {
  std::size_t least = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto groups = ReadFile(root + "/proc/self/cgroup");
  if (!groups.ok()) return least;
  // Lines of number:controllers:/path; version 2 has the number 0 and no controllers.
  std::istringstream lines(*groups);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t path = line.find(":/");
    if (path == std::string::npos) continue;
    const std::string group = line.substr(path + 1) == "/" ? "" : line.substr(path + 1);
    if (line.starts_with("0::")) {
      least = std::min(least, LeastOnTheWayUp(root + "/sys/fs/cgroup", group, "memory.max"));
    } else if (line.find(":memory:") != std::string::npos) {
      least = std::min(
          least, LeastOnTheWayUp(root + "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
    }
  }
  return least;
}

}  // namespace submix::base
