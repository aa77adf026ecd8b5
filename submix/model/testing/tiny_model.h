// A random GPT-2 of a few thousand weights on disk, and adapters for it. For tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "submix/base/ids.h"
#include "submix/model/decoder_config.h"
#include "submix/model/lora_adapter.h"

namespace submix::model {

// Vocabulary 53, context 24, width 16, 3 layers, 2 attention heads.
DecoderConfig TinyConfig();

// Writes config.json and model.safetensors with random weights, large enough that every part of the
// model shows in the logits. The directory is made.
void WriteTinyModel(const std::string& directory, const DecoderConfig& config, std::uint64_t seed);

// Writes a PEFT directory with random A and B.
void WriteTinyAdapter(const std::string& directory, const DecoderConfig& model,
                      const LoraConfig& config, std::uint64_t seed);

// `count` uniform tokens.
std::vector<base::TokenId> RandomTokens(std::size_t count, int vocab_size, std::uint64_t seed);

}  // namespace submix::model
