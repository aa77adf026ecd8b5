// A start for federated training from public text: ordinary SGD on one long stream, no privacy
// needed, none claimed. Torch-free.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/progress_bar.h"
#include "submix/base/status.h"
#include "submix/train/federated/federated_model.h"
#include "submix/train/federated/local_pass.h"
#include "submix/train/federated/word_vocabulary.h"

namespace submix::train {

// The first `most_tokens` words of plain or .xz files, kEnd behind each document (a line that holds
// exactly "<|endoftext|>" ends one). Errors: those of corpus::ReadLines.
base::StatusOr<std::vector<base::TokenId>> ReadPublicWords(std::span<const std::string> paths,
                                                           const WordVocabulary& vocabulary,
                                                           std::int64_t most_tokens);

// One pass of SGD over the words, with batches and learning rate as users have them, gradients cut
// to length 1. Errors: those of libtorch.
base::Status TrainOnPublicWords(const FederatedModel& model, const LocalTraining& training,
                                std::span<const base::TokenId> words, std::span<float> parameters,
                                base::ProgressStyle progress);

}  // namespace submix::train
