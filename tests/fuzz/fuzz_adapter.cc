#include <cstdint>

#include "submix/base/check.h"
#include "submix/model/lora_adapter.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/fuzzed_directory.h"

namespace submix::fuzz {

// For the model of the seeds: width 2, 2 layers.
void FuzzAdapter(std::string_view input) {
  static const FuzzedDirectory directory;
  const model::DecoderConfig model{
      .vocab_size = 5, .context_length = 4, .width = 2, .layers = 2, .attention_heads = 1};
  const std::vector<std::string_view> files = Pieces(input, 2);
  directory.Put("adapter_config.json", files[0]);
  directory.Put("adapter_model.safetensors", files[1]);
  const auto adapter = model::LoadLoraAdapter(directory.path(), model);
  if (!adapter.ok()) return;
  const int rank = adapter->config.rank;
  for (const model::LoraModule& module : adapter->modules) {
    SUBMIX_CHECK(std::ssize(module.a) == std::int64_t{rank} * module.inputs, "A fills its shape");
    SUBMIX_CHECK(std::ssize(module.b) == std::int64_t{rank} * module.outputs, "B fills its shape");
  }
  SUBMIX_CHECK(!model::IdentityText(adapter->config).empty(), "an adapter has a name");
}

}  // namespace submix::fuzz
