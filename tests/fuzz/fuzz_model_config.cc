#include <algorithm>
#include <iterator>

#include "submix/base/check.h"
#include "submix/model/decoder_config.h"
#include "submix/model/decoder_tensors.h"
#include "submix/model/end_tokens.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/fuzzed_directory.h"

namespace submix::fuzz {

void FuzzModelConfig(std::string_view input) {
  static const FuzzedDirectory directory;
  const std::string path = directory.Put("config.json", input);
  const auto config = model::LoadDecoderConfig(path);
  if (!config.ok()) return;
  const auto ends = model::LoadEndTokens(directory.path());
  SUBMIX_CHECK(!ends.ok() || std::ranges::all_of(
                                 *ends, [&](int id) { return id >= 0 && id < config->vocab_size; }),
               "what ends an answer is a token");
  for (const int size : {config->vocab_size, config->context_length, config->width, config->layers,
                         config->attention_heads, config->num_key_value_heads(),
                         config->width_of_head(), config->width_of_mlp()}) {
    SUBMIX_CHECK(size >= 1 && size <= 1 << 24, "sizes are positive and bounded");
  }
  SUBMIX_CHECK(config->attention_heads % config->num_key_value_heads() == 0, "heads share evenly");
  SUBMIX_CHECK(config->end_of_text >= 0 && config->end_of_text < config->vocab_size,
               "the end of text is a token");
  SUBMIX_CHECK(config->norm_epsilon > 0, "a norm's epsilon is positive");
  constexpr int kFewLayers = 16;  // the list of tensors grows with them
  if (config->layers <= kFewLayers) {
    for (const model::LinearLayer& linear : model::LinearLayers(*config)) {
      SUBMIX_CHECK(linear.inputs >= 1 && linear.outputs >= 1, "no layer is empty");
    }
  }
  if (config->family != "gpt2") {
    SUBMIX_CHECK(
        config->windowed_layers.empty() || std::ssize(config->windowed_layers) == config->layers,
        "every layer is windowed or not");
    for (const double frequency :
         model::RotaryFrequencies(config->rotary, config->width_of_head())) {
      SUBMIX_CHECK(frequency >= 0 && frequency <= 1, "a token turns by a radian at most");
    }
    return;
  }
  directory.Put("config.json", model::DecoderConfigJson(*config));
  const auto again = model::LoadDecoderConfig(path);
  SUBMIX_CHECK(again.ok() && *again == *config, "and reads as the same");
}

}  // namespace submix::fuzz
