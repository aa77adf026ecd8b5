// Walks a word-level model over streams of words and shows what it predicted at every place.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/train/federated/word_lstm.h"

namespace submix::train {

// Streams are read in groups, side by side; a group is one thread's at a time.
std::size_t NumStreamGroups(std::size_t num_streams);

// The logits [V] of one place may be overwritten.
using PredictionVisitor =
    std::function<void(std::size_t group, base::TokenId target, std::span<float> logits)>;

// Calls `visit` for every word of the streams, each read from an empty memory; within a group
// always in the same order. Errors: those of libtorch. Requires: threads >= 1.
base::Status VisitPredictions(const WordLstmShape& shape, std::span<const float> parameters,
                              std::span<const std::vector<base::TokenId>> streams, int threads,
                              const PredictionVisitor& visit);

}  // namespace submix::train
