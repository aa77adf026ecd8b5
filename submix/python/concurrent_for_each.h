// The threads that a batch of sequences is divided among.
#pragma once

#include <functional>

namespace submix::python {

// body(i), which does not throw, once for every i in [0, count), by as many threads as there are
// processors, this one among them. Returns when all are done. Thread-safe.
void ConcurrentForEach(int count, const std::function<void(int)>& body);

}  // namespace submix::python
