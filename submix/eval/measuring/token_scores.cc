#include "submix/eval/measuring/token_scores.h"

#include <algorithm>
#include <cmath>

namespace submix::eval {

double LogProbability(std::span<const float> logits, base::TokenId token) {
  // Softmax is taken from the largest, in double: sums of float32 would lose the fourth digit.
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return logits[static_cast<std::size_t>(token)] - largest - std::log(sum);
}

base::StatusOr<std::vector<std::vector<double>>> ScoreTokens(ensemble::Predictor& predictor,
                                                             const HeldoutBlocks& blocks,
                                                             base::ProgressBar& progress) {
  const auto vocabulary = static_cast<std::size_t>(predictor.vocab_size());
  std::vector<std::vector<double>> scores(static_cast<std::size_t>(1 + predictor.num_members()));
  for (const std::vector<base::TokenId>& block : blocks) {
    SUBMIX_RETURN_IF_ERROR(
        predictor.Score(block, 1, [&](std::size_t position, std::span<const float> logits) {
          for (std::size_t row = 0; row < scores.size(); ++row) {
            scores[row].push_back(
                LogProbability(logits.subspan(row * vocabulary, vocabulary), block[position]));
          }
          progress.Advance(1);
          return base::OkStatus();
        }));
  }
  return scores;
}

}  // namespace submix::eval
