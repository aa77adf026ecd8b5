// SUBMIX_CHECK: for our own bugs only, never for something a caller, a file or a network can cause
// (those get a Status). It is on in every build and ends the process with place and reason.
#pragma once

#ifdef __FAST_MATH__
#error "Submix must not be built with -ffast-math or -Ofast: NaN checks would vanish."
#endif

namespace submix::base {

// Prints `file:line: check failed: condition (reason)` to stderr and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              const char* reason);

}  // namespace submix::base

#define SUBMIX_CHECK(condition, reason)                                    \
  do {                                                                     \
    if (!(condition)) [[unlikely]] {                                       \
      ::submix::base::CheckFailed(__FILE__, __LINE__, #condition, reason); \
    }                                                                      \
  } while (false)
