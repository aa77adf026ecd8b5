// run_as_processor PATH PROGRAM [ARGUMENT…]: the program as on a processor that has nothing beyond
// PATH: both our vector code and, within libtorch, oneDNN's. Exit code 77, without running it, if
// this processor lacks PATH.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <unistd.h>

#include "submix/base/instruction_sets.h"

namespace {

using submix::base::InstructionSet;

struct Path {
  InstructionSet set;
  const char* dnnl_name;
};
constexpr Path kPaths[] = {
    {InstructionSet::kPlain, "SSE41"},           {InstructionSet::kAvx2, "AVX2"},
    {InstructionSet::kAvx512, "AVX512_CORE"},    {InstructionSet::kVnni, "AVX512_CORE_VNNI"},
    {InstructionSet::kBf16, "AVX512_CORE_BF16"}, {InstructionSet::kAmx, "AVX512_CORE_AMX"},
};

const Path* Find(std::string_view name) {
  for (const Path& path : kPaths) {
    if (submix::base::InstructionSetName(path.set) == name) return &path;
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const Path* const path = argc < 3 ? nullptr : Find(argv[1]);
  if (path == nullptr) {
    std::fprintf(stderr, "usage: run_as_processor PATH PROGRAM [ARGUMENT...], PATH one of");
    for (const Path& known : kPaths) {
      std::fprintf(stderr, " %s", submix::base::InstructionSetName(known.set).data());
    }
    std::fprintf(stderr, "\n");
    return 2;
  }
  setenv("SUBMIX_MAX_CPU_ISA", argv[1], 1);
  setenv("ONEDNN_MAX_CPU_ISA", path->dnnl_name, 1);
  if (submix::base::ChosenInstructionSet() != path->set) {
    std::printf("this processor lacks %s\n", argv[1]);
    return 77;
  }
  execv(argv[2], argv + 2);
  std::perror(argv[2]);
  return 2;
}
