#include "submix/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace submix::base {

void CheckFailed(const char* file, int line, const char* condition, const char* reason) {
  std::fprintf(stderr, "%s:%d: check failed: %s (%s)\n", file, line, condition, reason);
  std::abort();
}

}  // namespace submix::base
