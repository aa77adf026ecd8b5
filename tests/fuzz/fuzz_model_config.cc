#include "submix/base/check.h"
#include "submix/model/gpt_config.h"
#include "submix/model/gpt_tensors.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/fuzzed_directory.h"

namespace submix::fuzz {

void FuzzModelConfig(std::string_view input) {
  static const FuzzedDirectory directory;
  const std::string path = directory.Put("config.json", input);
  const auto config = model::LoadGptConfig(path);
  if (!config.ok()) return;
  for (const int size : {config->vocab_size, config->context_length, config->width, config->layers,
                         config->attention_heads}) {
    SUBMIX_CHECK(size >= 1 && size <= 1 << 24, "sizes are positive and bounded");
  }
  SUBMIX_CHECK(config->width % config->attention_heads == 0, "heads divide the width");
  SUBMIX_CHECK(config->end_of_text >= 0 && config->end_of_text < config->vocab_size,
               "the end of text is a token");
  SUBMIX_CHECK(config->norm_epsilon > 0, "a norm's epsilon is positive");
  constexpr int kFewLayers = 16;  // the list of tensors grows with them
  if (config->layers <= kFewLayers) {
    for (const model::GptTensor& tensor : model::GptTensors(*config)) {
      for (const std::int64_t size : tensor.shape) SUBMIX_CHECK(size >= 1, "no tensor is empty");
    }
  }
  SUBMIX_CHECK(model::SaveGptConfig(*config, path).ok(), "what was read can be written");
  const auto again = model::LoadGptConfig(path);
  SUBMIX_CHECK(again.ok() && *again == *config, "and reads as the same");
}

}  // namespace submix::fuzz
