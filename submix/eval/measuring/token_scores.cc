#include "submix/eval/measuring/token_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace submix::eval {

double LogProbability(std::span<const float> logits, base::TokenId token) {
  // Softmax is taken from the largest, in double: sums of float32 would lose the fourth digit.
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return logits[static_cast<std::size_t>(token)] - largest - std::log(sum);
}

double TokenScores::nats() const {
  return -std::accumulate(log_probabilities.begin(), log_probabilities.end(), 0.0);
}

double TokenScores::perplexity() const {
  return std::exp(nats() / static_cast<double>(log_probabilities.size()));
}

base::StatusOr<std::vector<TokenScores>> ScoreTokens(ensemble::Predictor& predictor,
                                                     const HeldoutBlocks& blocks,
                                                     base::ProgressBar& progress) {
  const auto vocabulary = static_cast<std::size_t>(predictor.vocab_size());
  std::vector<TokenScores> scores(static_cast<std::size_t>(1 + predictor.num_members()));
  for (const std::vector<base::TokenId>& block : blocks) {
    SUBMIX_RETURN_IF_ERROR(
        predictor.Score(block, 1, [&](std::size_t position, std::span<const float> logits) {
          const base::TokenId token = block[position];
          for (std::size_t row = 0; row < scores.size(); ++row) {
            const auto own = logits.subspan(row * vocabulary, vocabulary);
            scores[row].log_probabilities.push_back(LogProbability(own, token));
            if (own[static_cast<std::size_t>(token)] == *std::ranges::max_element(own)) {
              ++scores[row].likeliest;
            }
          }
          progress.Advance(1);
          return base::OkStatus();
        }));
  }
  return scores;
}

}  // namespace submix::eval
