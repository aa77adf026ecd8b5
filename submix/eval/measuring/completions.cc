#include "submix/eval/measuring/completions.h"

#include <algorithm>
#include <cmath>

#include "submix/eval/measuring/repeatable_draws.h"

namespace submix::eval {
namespace {

using base::Status;
using base::StatusOr;

// Sequences that grow together, all of them in one predictor step.
class Batch {
 public:
  Batch(ensemble::Predictor& predictor, TokenLaw& law, bool greedy, base::RandomSource& random,
        std::size_t size)
      : predictor_(predictor),
        law_(law),
        greedy_(greedy),
        random_(random),
        pmf_(static_cast<std::size_t>(predictor.vocab_size())),
        completions_(size) {
    for (std::size_t s = 0; s < size; ++s) sequences_.push_back(predictor.Open());
  }
  ~Batch() {
    for (const ensemble::SequenceId sequence : sequences_) predictor_.Close(sequence);
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // One token more for each.
  Status Extend(std::span<const base::TokenId> prompt) {
    std::vector<ensemble::Predictor::Append> appends;
    for (std::size_t s = 0; s < sequences_.size(); ++s) {
      const std::vector<base::TokenId>& tokens = completions_[s].tokens;
      appends.push_back({sequences_[s],
                         tokens.empty() ? prompt : std::span<const base::TokenId>(tokens).last(1)});
    }
    const std::size_t rows = 1 + static_cast<std::size_t>(predictor_.num_members());
    const std::size_t size = rows * pmf_.size();
    logits_.resize(sequences_.size() * size);
    SUBMIX_RETURN_IF_ERROR(predictor_.Step(appends, logits_));
    for (std::size_t s = 0; s < sequences_.size(); ++s) {
      SUBMIX_RETURN_IF_ERROR(law_.Next(std::span(logits_).subspan(s * size, size), pmf_));
      Choose(completions_[s]);
    }
    return base::OkStatus();
  }

  std::vector<Completion>& completions() { return completions_; }

 private:
  void Choose(Completion& completion) {
    const std::size_t token =
        greedy_
            ? static_cast<std::size_t>(std::max_element(pmf_.begin(), pmf_.end()) - pmf_.begin())
            : DrawIndex(pmf_, random_);
    completion.tokens.push_back(static_cast<base::TokenId>(token));
    completion.log_probability += std::log(pmf_[token]);
  }

  ensemble::Predictor& predictor_;
  TokenLaw& law_;
  const bool greedy_;
  base::RandomSource& random_;
  std::vector<double> pmf_;
  std::vector<float> logits_;
  std::vector<ensemble::SequenceId> sequences_;
  std::vector<Completion> completions_;
};

}  // namespace

StatusOr<std::vector<Completion>> Complete(ensemble::Predictor& predictor, TokenLaw& law,
                                           std::span<const base::TokenId> prompt,
                                           const CompletionOptions& options,
                                           base::RandomSource& random) {
  std::vector<Completion> all;
  while (static_cast<int>(all.size()) < options.count) {
    const int size = std::min(options.at_a_time, options.count - static_cast<int>(all.size()));
    Batch batch(predictor, law, options.greedy, random, static_cast<std::size_t>(size));
    for (std::size_t t = 0; t < options.tokens; ++t) SUBMIX_RETURN_IF_ERROR(batch.Extend(prompt));
    for (Completion& completion : batch.completions()) all.push_back(std::move(completion));
  }
  return all;
}

}  // namespace submix::eval
