// A word-level LSTM as a directory: config.json (vocab_size, width, units), words.txt (one word a
// line, most frequent first, behind the three marks) and model.safetensors (the parameter vectors
// by their names, float32). Torch-free.
#pragma once

#include <span>
#include <string>

#include "submix/base/status.h"
#include "submix/train/federated/word_lstm.h"
#include "submix/train/federated/word_vocabulary.h"

namespace submix::train {

// Replaces what is there, file by file. Errors: those of writing.
base::Status SaveWordModel(const std::string& directory, const WordLstmShape& shape,
                           const WordVocabulary& vocabulary, std::span<const float> parameters);

}  // namespace submix::train
