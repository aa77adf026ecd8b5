#include "submix/base/math_library_defaults.h"

#include <cstdlib>

namespace submix::base {
namespace {

// Sets `name` unless the user did; true if that changed anything.
bool SetDefault(const char* name, const char* value) {
  return std::getenv(name) == nullptr && ::setenv(name, value, /*overwrite=*/0) == 0;
}

bool HasAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}

}  // namespace

bool SetMathLibraryDefaults() {
  bool is_late = false;
  if (HasAvx512()) {
    SetDefault("ATEN_CPU_CAPABILITY", "avx512");
    is_late |= SetDefault("OPENBLAS_CORETYPE", "SkylakeX");
  }
  SetDefault("DNNL_PRIMITIVE_CACHE_CAPACITY", "65536");
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) is_late |= SetDefault("GOMP_SPINCOUNT", "20000");
  return is_late;
}

}  // namespace submix::base
