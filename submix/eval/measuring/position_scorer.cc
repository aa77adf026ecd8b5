#include "submix/eval/measuring/position_scorer.h"

#include <algorithm>
#include <cmath>

#include "submix/eval/measuring/token_scores.h"

namespace submix::eval {
namespace {

bool IsMostLikely(std::span<const float> logits, base::TokenId token) {
  return std::ranges::max_element(logits) - logits.begin() == token;
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
  scored_.losses.assign(2, 0);
  scored_.losses[0] = -std::log(scored_.predictions.public_pmf[scored_.true_index]);
  scored_.hits = {IsMostLikely(logits.first(vocab), true_token)};
  for (std::size_t row = 1 + members; row < rows; ++row) {
    const std::span<const float> of_model = logits.subspan(row * vocab, vocab);
    scored_.losses.push_back(-LogProbability(of_model, true_token));
    scored_.hits.push_back(IsMostLikely(of_model, true_token));
  }
  double sum = 0;
  for (int part = 0; part < plan_.num_parts; ++part) {
    for (int half = 0; half < plan_.halves; ++half) {
      const double probability = scored_.predictions.member(part, half)[scored_.true_index];
      scored_.losses.push_back(-std::log(probability));
      sum += probability;
    }
  }
  scored_.losses[1] = -std::log(sum / static_cast<double>(members));
  return &scored_;
}

}  // namespace submix::eval
