// What every predictor refuses, and in which words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "submix/base/status.h"
#include "submix/ensemble/predictor.h"
#include "submix/model/decoder_config.h"

namespace submix::ensemble {

// How many of them ask for logits.
std::size_t CountPredicting(std::span<const Predictor::Append> appends);

// Errors: kInvalidArgument as Predictor::Step. `length_of` is the number of tokens that a sequence
// holds, -1 if it is unknown. Allocates nothing unless it fails.
base::Status CheckAppends(const Predictor& predictor, std::span<const Predictor::Append> appends,
                          std::size_t logits_size,
                          const std::function<std::int64_t(SequenceId)>& length_of);

// Errors: kInvalidArgument as Predictor::Score.
base::Status CheckDocument(const Predictor& predictor, std::span<const base::TokenId> tokens,
                           std::size_t first);

// Whether a member's directory holds a PEFT adapter; otherwise it is a whole model.
bool IsAdapterDirectory(const std::string& directory);

// Errors: kFailedPrecondition if a member that is a whole model has another shape than the public
// one.
base::Status CheckMemberShape(const model::DecoderConfig& member,
                              const model::DecoderConfig& public_model,
                              const std::string& directory);

}  // namespace submix::ensemble
