#include "submix/python/concurrent_for_each.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace submix::python {

void ConcurrentForEach(int count, const std::function<void(int)>& body) {
  std::atomic<int> next = 0;
  const auto work = [&] {
    for (int i = next++; i < count; i = next++) body(i);
  };
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  std::vector<std::jthread> others;
  try {
    for (int i = 1; i < std::min(count, processors); ++i) others.emplace_back(work);
  } catch (const std::system_error&) {
    // The system gives no more threads: those that there are do the work.
  }
  work();
}

}  // namespace submix::python
