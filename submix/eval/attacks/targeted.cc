#include "submix/eval/attacks/targeted.h"

#include <algorithm>
#include <functional>

namespace submix::eval {
namespace {

using base::StatusOr;

constexpr int kErrors = 100;

}  // namespace

StatusOr<TargetedGuess> GuessSuffix(ensemble::Predictor& predictor, TokenLaw& law,
                                    const TargetedExample& example, int samples,
                                    base::RandomSource& random) {
  SUBMIX_ASSIGN_OR_RETURN(
      const std::vector<Completion> completions,
      Complete(predictor, law, example.prefix,
               {.tokens = example.suffix.size(), .count = samples, .greedy = samples == 1},
               random));
  const Completion& best = *std::ranges::max_element(completions, {}, &Completion::log_probability);
  int right = 0;
  for (std::size_t t = 0; t < example.suffix.size(); ++t) {
    right += best.tokens[t] == example.suffix[t] ? 1 : 0;
  }
  const auto size = static_cast<double>(example.suffix.size());
  return TargetedGuess{best.tokens == example.suffix, right / size, best.log_probability / size};
}

TargetedSummary Summarise(std::span<const TargetedGuess> guesses) {
  std::vector<TargetedGuess> sorted(guesses.begin(), guesses.end());
  std::ranges::stable_sort(sorted, std::greater<>(), &TargetedGuess::log_probability);
  TargetedSummary summary;
  summary.examples = static_cast<int>(guesses.size());
  const double examples = summary.examples;
  for (const TargetedGuess& guess : sorted) {
    summary.right += guess.is_right ? 1 : 0;
    summary.tokens_right += guess.tokens_right / examples;
    const int handed_in = static_cast<int>(summary.curve.size()) + 1;
    summary.curve.push_back(
        {static_cast<double>(summary.right) / handed_in, summary.right / examples});
    if (handed_in - summary.right <= kErrors)
      summary.recall_at_100_errors = summary.right / examples;
  }
  summary.recall = summary.right / std::max(examples, 1.0);
  return summary;
}

}  // namespace submix::eval
