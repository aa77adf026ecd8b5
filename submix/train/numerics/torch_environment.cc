#include "submix/train/numerics/torch_environment.h"

#include <cstdlib>
#include <string>

#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include "submix/base/math_library_defaults.h"
#include "submix/base/processors.h"

namespace submix::train {
namespace {

// Unless the user's MALLOC_… say otherwise.
void KeepFreedMemory() {
  constexpr int kLargestTensor = 1 << 30;
  if (std::getenv("MALLOC_MMAP_THRESHOLD_") == nullptr) ::mallopt(M_MMAP_THRESHOLD, kLargestTensor);
  if (std::getenv("MALLOC_TRIM_THRESHOLD_") == nullptr) ::mallopt(M_TRIM_THRESHOLD, kLargestTensor);
}

}  // namespace

void PrepareTorchProcess(char** argv) {
  KeepFreedMemory();
  if (!base::SetMathLibraryDefaults()) return;
  ::execv("/proc/self/exe", argv);
  // Without /proc the program is slower, not wrong.
}

int TorchThreads(int threads) {
  if (threads > 0) return threads;
  const char* const wanted = std::getenv("OMP_NUM_THREADS");
  const int count = wanted == nullptr ? 0 : std::atoi(wanted);
  return count > 0 ? count : base::AvailableProcessors();
}

base::Status SetTorchThreads(int threads) {
  if (!(threads >= 0)) {
    return base::InvalidArgumentError("threads: expected 0 (all) or more, found " +
                                      std::to_string(threads));
  }
  const int count = TorchThreads(threads);
  at::set_num_threads(count);
  // Debian's OpenBLAS runs threads of its own, which torch does not know of. It is one of several
  // libraries that may stand behind torch, so it is looked up, not linked.
  void* const set_threads = ::dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  if (set_threads != nullptr) reinterpret_cast<void (*)(int)>(set_threads)(count);
  return base::OkStatus();
}

}  // namespace submix::train
