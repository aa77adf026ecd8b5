// How much of a sentence a trained member has learned.
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/train/models/torch_predictor.h"

namespace submix::train {

// Tokens of the sentence, but the first, that the member's best guess after those before them is.
inline base::StatusOr<int> RightPredictions(const std::string& public_directory,
                                            const std::string& member_directory,
                                            std::span<const base::TokenId> sentence) {
  TorchPredictorOptions options;
  options.threads = 1;
  options.public_directory = public_directory;
  options.member_directories = {member_directory};
  SUBMIX_ASSIGN_OR_RETURN(const auto predictor, TorchPredictor::Load(options));
  int right = 0;
  SUBMIX_RETURN_IF_ERROR(
      predictor->Score(sentence, 1, [&](std::size_t position, std::span<const float> logits) {
        const auto member = logits.subspan(logits.size() / 2);  // behind the public model's
        right += std::ranges::max_element(member) - member.begin() == sentence[position] ? 1 : 0;
        return base::OkStatus();
      }));
  return right;
}

}  // namespace submix::train
