#include "submix/train/numerics/torch_environment.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include "submix/base/processors.h"

namespace submix::train {
namespace {

constexpr const char* kRestartedMark = "SUBMIX_TORCH_PREPARED";

// Sets `name` unless the user did; true if that changed anything.
bool SetDefault(const char* name, const char* value) {
  if (std::getenv(name) != nullptr) return false;
  return ::setenv(name, value, /*overwrite=*/0) == 0;
}

bool HasAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}

// Unless the user's MALLOC_… say otherwise.
void KeepFreedMemory() {
  constexpr int kLargestTensor = 1 << 30;
  if (std::getenv("MALLOC_MMAP_THRESHOLD_") == nullptr) ::mallopt(M_MMAP_THRESHOLD, kLargestTensor);
  if (std::getenv("MALLOC_TRIM_THRESHOLD_") == nullptr) ::mallopt(M_TRIM_THRESHOLD, kLargestTensor);
}

// OpenBLAS is one of several libraries that may stand behind torch, so it is looked up, not linked.
template <typename Function>
Function* OpenBlasFunction(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

}  // namespace

const char* BlasCoreName() {
  const auto core_name = OpenBlasFunction<char*()>("openblas_get_corename");
  return core_name == nullptr ? "" : core_name();
}

void PrepareTorchProcess(char** argv) {
  KeepFreedMemory();
  if (std::getenv(kRestartedMark) != nullptr) return;
  bool changed = false;
  if (HasAvx512()) {
    // Read when torch starts its first kernel: no restart needed for it alone.
    SetDefault("ATEN_CPU_CAPABILITY", "avx512");
    if (std::string(BlasCoreName()) == "Prescott") {
      changed |= SetDefault("OPENBLAS_CORETYPE", "SkylakeX");
    }
  }
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) changed |= SetDefault("GOMP_SPINCOUNT", "20000");
  if (!changed) return;
  ::setenv(kRestartedMark, "1", /*overwrite=*/1);
  ::execv("/proc/self/exe", argv);
  // Without /proc the program is slower, not wrong.
}

base::Status SetTorchThreads(int threads) {
  if (!(threads >= 0)) {
    return base::InvalidArgumentError("threads: expected 0 (all) or more, found " +
                                      std::to_string(threads));
  }
  const int count = threads == 0 ? base::AvailableProcessors() : threads;
  at::set_num_threads(count);
  // Debian's OpenBLAS runs threads of its own, which torch does not know of.
  if (const auto set_threads = OpenBlasFunction<void(int)>("openblas_set_num_threads")) {
    set_threads(count);
  }
  return base::OkStatus();
}

}  // namespace submix::train
