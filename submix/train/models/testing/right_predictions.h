// How much of its text a trained member has learned.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <vector>

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

// The mean of -log p of all tokens but the blocks' first: the public model's, and the member's.
inline base::StatusOr<std::array<double, 2>> MeanLosses(
    const std::string& public_directory, const std::string& member_directory,
    const std::vector<std::vector<base::TokenId>>& blocks) {
  TorchPredictorOptions options;
  options.threads = 1;
  options.public_directory = public_directory;
  options.member_directories = {member_directory};
  SUBMIX_ASSIGN_OR_RETURN(const auto predictor, TorchPredictor::Load(options));
  std::array<double, 2> losses = {};
  double tokens = 0;
  for (const std::vector<base::TokenId>& block : blocks) {
    const auto add = [&](std::size_t position, std::span<const float> logits) {
      const std::size_t vocab_size = logits.size() / 2;
      for (std::size_t m = 0; m < 2; ++m) {
        const auto row = logits.subspan(m * vocab_size, vocab_size);
        double sum = 0;
        for (const float logit : row) sum += std::exp(static_cast<double>(logit));
        losses[m] += std::log(sum) - row[static_cast<std::size_t>(block[position])];
      }
      ++tokens;
      return base::OkStatus();
    };
    SUBMIX_RETURN_IF_ERROR(predictor->Score(block, 1, add));
  }
  for (double& loss : losses) loss /= tokens;
  return losses;
}

}  // namespace submix::train
