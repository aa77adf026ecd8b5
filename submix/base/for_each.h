// Work that falls into independent pieces, done by whatever threads the caller has.
#pragma once

#include <functional>

namespace submix::base {

// Calls body(i), which does not throw, once for every i in [0, count), by any threads; returns when
// all are done. Not from within a body.
using ForEach = std::function<void(int count, const std::function<void(int)>& body)>;

// By the thread that calls.
inline const ForEach kInTurn = [](int count, const std::function<void(int)>& body) {
  for (int i = 0; i < count; ++i) body(i);
};

}  // namespace submix::base
