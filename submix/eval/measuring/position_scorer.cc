#include "submix/eval/measuring/position_scorer.h"

#include <algorithm>
#include <cmath>

#include "submix/eval/measuring/token_scores.h"

namespace submix::eval {
namespace {

TokenScore ScoreOfLogits(std::span<const float> logits, base::TokenId token) {
  return {-LogProbability(logits, token),
          logits[static_cast<std::size_t>(token)] == *std::ranges::max_element(logits)};
}

TokenScore ScoreOfPmf(std::span<const double> pmf, std::size_t token) {
  return {-std::log(pmf[token]), pmf[token] == *std::ranges::max_element(pmf)};
}

}  // namespace

base::StatusOr<const ScoredPosition*> PositionScorer::Score(base::TokenId true_token, int user,
                                                            std::span<const float> logits) {
  const auto members = static_cast<std::size_t>(plan_.num_parts * plan_.halves);
  const std::size_t rows = 1 + members + static_cast<std::size_t>(plan_.num_fine_tuned);
  const std::size_t vocab = logits.size() / rows;
  SUBMIX_RETURN_IF_ERROR(
      mapped_.Map(logits.first(vocab), logits.subspan(vocab, members * vocab), plan_.halves, {}));
  scored_.predictions = mapped_.view();
  scored_.user = user;
  scored_.true_index = static_cast<std::size_t>(mapped_.IndexOf(true_token));
  scored_.scores = {ScoreOfPmf(scored_.predictions.public_pmf, scored_.true_index), {}};
  for (std::size_t row = 1 + members; row < rows; ++row) {
    scored_.scores.push_back(ScoreOfLogits(logits.subspan(row * vocab, vocab), true_token));
  }
  mean_.assign(scored_.predictions.public_pmf.size(), 0);
  for (int part = 0; part < plan_.num_parts; ++part) {
    for (int half = 0; half < plan_.halves; ++half) {
      const std::span<const double> pmf = scored_.predictions.member(part, half);
      scored_.scores.push_back(ScoreOfPmf(pmf, scored_.true_index));
      for (std::size_t x = 0; x < mean_.size(); ++x) {
        mean_[x] += pmf[x] / static_cast<double>(members);
      }
    }
  }
  scored_.scores[1] = ScoreOfPmf(mean_, scored_.true_index);
  return &scored_;
}

}  // namespace submix::eval
