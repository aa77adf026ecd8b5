// run_as_processor PATH PROGRAM [ARGUMENT…]: the program as on a processor that has nothing beyond
// PATH: both our vector code and oneDNN's. One process a path, since oneDNN decides once. Exit code
// 77, without running it, if this processor lacks PATH.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <dnnl.hpp>
#include <unistd.h>

#include "submix/base/instruction_sets.h"

namespace {

using submix::base::InstructionSet;

struct Path {
  const char* name;
  InstructionSet set;
  const char* set_name;
  dnnl::cpu_isa dnnl_set;
  const char* dnnl_set_name;
};
constexpr Path kPaths[] = {
    {"plain", InstructionSet::kPlain, "plain", dnnl::cpu_isa::sse41, "SSE41"},
    {"avx2", InstructionSet::kAvx2, "avx2", dnnl::cpu_isa::avx2, "AVX2"},
    {"avx512", InstructionSet::kAvx512, "avx512", dnnl::cpu_isa::avx512_core, "AVX512_CORE"},
    {"avx512_vnni", InstructionSet::kAvx512, "avx512", dnnl::cpu_isa::avx512_core_vnni,
     "AVX512_CORE_VNNI"},
    {"avx512_bf16", InstructionSet::kAvx512, "avx512", dnnl::cpu_isa::avx512_core_bf16,
     "AVX512_CORE_BF16"},
    {"amx", InstructionSet::kAvx512, "avx512", dnnl::cpu_isa::avx512_core_amx, "AVX512_CORE_AMX"},
};

const Path* Find(std::string_view name) {
  for (const Path& path : kPaths) {
    if (path.name == name) return &path;
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const Path* const path = argc < 3 ? nullptr : Find(argv[1]);
  if (path == nullptr) {
    std::fprintf(stderr, "usage: run_as_processor PATH PROGRAM [ARGUMENT...], PATH one of");
    for (const Path& known : kPaths) std::fprintf(stderr, " %s", known.name);
    std::fprintf(stderr, "\n");
    return 2;
  }
  setenv("SUBMIX_MAX_CPU_ISA", path->set_name, 1);
  setenv("ONEDNN_MAX_CPU_ISA", path->dnnl_set_name, 1);
  if (submix::base::ChosenInstructionSet() != path->set ||
      dnnl::get_effective_cpu_isa() != path->dnnl_set) {
    std::printf("this processor lacks %s\n", path->name);
    return 77;
  }
  execv(argv[2], argv + 2);
  std::perror(argv[2]);
  return 2;
}
