// One libFuzzer program for all targets, so that CI links once. The environment's SUBMIX_FUZZ names
// the target; the processes that -fork and -jobs start inherit it.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/fuzz_targets.h"

namespace submix::fuzz {
namespace {

struct Target {
  std::string_view name;
  void (*run)(std::string_view input);
};

constexpr Target kTargets[] = {
    {"adapter", FuzzAdapter},
    {"chat_template", FuzzChatTemplate},
    {"corpus", FuzzCorpus},
    {"deployment", FuzzDeployment},
    {"http_body", FuzzHttpBody},
    {"http_head", FuzzHttpHead},
    {"ledger_chain", FuzzLedgerChain},
    {"ledger_file", FuzzLedgerFile},
    {"logits_hello", FuzzLogitsHello},
    {"manifest", FuzzManifest},
    {"model_config", FuzzModelConfig},
    {"safetensors", FuzzSafetensors},
    {"serve_config", FuzzServeConfig},
    {"shape", FuzzShape},
    {"tokenizer", FuzzTokenizer},
};

const Target& ChosenTarget() {
  const char* const name = std::getenv("SUBMIX_FUZZ");
  for (const Target& target : kTargets) {
    if (name != nullptr && target.name == name) return target;
  }
  std::fputs("SUBMIX_FUZZ must name one of\n", stderr);
  for (const Target& target : kTargets) std::fprintf(stderr, "  %s\n", target.name.data());
  std::exit(2);
}

}  // namespace
}  // namespace submix::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const submix::fuzz::Target& target = submix::fuzz::ChosenTarget();
  target.run({reinterpret_cast<const char*>(data), size});
  return 0;
}
