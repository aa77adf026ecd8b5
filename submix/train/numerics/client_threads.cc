#include "submix/train/numerics/client_threads.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

#include <ATen/Context.h>

#include "submix/base/check.h"
#include "submix/train/numerics/torch_environment.h"
#include "submix/train/numerics/torch_errors.h"

namespace submix::train {

base::Status RunOnClientThreads(int threads, std::size_t count,
                                const std::function<base::Status(ClientQueue&, int)>& worker) {
  SUBMIX_CHECK(threads >= 1, "work needs a thread");
  ClientQueue queue(count);
  std::mutex mutex;
  base::Status first_error;
  const auto run = [&](int thread) {
    // OpenMP keeps the number of threads for each thread that asks.
    base::Status status = SetTorchThreads(1);
    // A user whose numbers run away would cost many times the others' time.
    (void)at::Context::setFlushDenormal(true);
    if (status.ok()) status = CatchTorchErrors([&] { return worker(queue, thread); });
    if (status.ok()) return;
    queue.Close();
    const std::lock_guard lock(mutex);
    if (first_error.ok()) first_error = status;
  };
  const int workers = static_cast<int>(std::min<std::size_t>(threads, count));
  std::vector<std::thread> running;
  for (int thread = 0; thread < workers; ++thread) running.emplace_back(run, thread);
  for (std::thread& thread : running) thread.join();
  return first_error;
}

}  // namespace submix::train
