// A small random public model over bytes, with its tokenizer: what trains from text needs both.
#pragma once

#include <string>

#include "submix/base/status.h"
#include "submix/model/testing/tiny_model.h"
#include "submix/tokenizer/bpe_trainer.h"

namespace submix::train {

inline constexpr int kByteVocabSize = 257;  // bytes and the end of text
inline constexpr base::TokenId kByteEndOfText = 256;

// TinyConfig otherwise. The directory is made.
inline base::Status WriteByteModel(const std::string& directory) {
  model::DecoderConfig config = model::TinyConfig();
  config.vocab_size = kByteVocabSize;
  config.end_of_text = kByteEndOfText;
  model::WriteTinyModel(directory, config, /*seed=*/1);
  tokenizer::BpeTrainer trainer;
  SUBMIX_RETURN_IF_ERROR(trainer.AddText("no merges are learned from this"));
  return trainer.Train(kByteVocabSize, directory);
}

}  // namespace submix::train
