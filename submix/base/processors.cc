#include "submix/base/processors.h"

#include <algorithm>

#include <sched.h>

namespace submix::base {

int AvailableProcessors() {
  cpu_set_t allowed;
  // Fails only where there are more processors than the set has places.
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return CPU_SETSIZE;
  return std::max(1, CPU_COUNT(&allowed));
}

}  // namespace submix::base
