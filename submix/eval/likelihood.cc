#include "submix/eval/likelihood.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace submix::eval {

using base::StatusOr;

StatusOr<JudgedTokens> Judged(const tokenizer::Tokenizer& tokenizer, const std::string& prompt,
                              const std::string& text) {
  const std::vector<base::TokenId> alone = tokenizer.Encode(prompt);
  JudgedTokens judged{tokenizer.Encode(prompt + text), 0};
  const auto differs =
      std::mismatch(alone.begin(), alone.end(), judged.tokens.begin(), judged.tokens.end());
  judged.first = static_cast<std::size_t>(differs.first - alone.begin());
  if (judged.first == 0 || judged.first == judged.tokens.size()) {
    return base::InvalidArgumentError(
        "a prompt and a text after it are needed, each of at least one token of its own");
  }
  return judged;
}

StatusOr<std::vector<double>> LogLikelihoods(ensemble::Predictor& predictor,
                                             std::span<TokenLaw* const> laws,
                                             const JudgedTokens& judged) {
  std::vector<double> sums(laws.size(), 0);
  std::vector<double> pmf(static_cast<std::size_t>(predictor.vocab_size()));
  const auto judge = [&](std::size_t position, std::span<const float> logits) -> base::Status {
    const auto token = static_cast<std::size_t>(judged.tokens[position]);
    for (std::size_t i = 0; i < laws.size(); ++i) {
      SUBMIX_RETURN_IF_ERROR(laws[i]->Next(logits, pmf));
      sums[i] += std::log(pmf[token]);
    }
    return base::OkStatus();
  };
  SUBMIX_RETURN_IF_ERROR(predictor.Score(judged.tokens, judged.first, judge));
  return sums;
}

StatusOr<int> LikeliestMember(ensemble::Predictor& predictor, int num_members,
                              const JudgedTokens& judged) {
  std::vector<std::unique_ptr<TokenLaw>> owned;
  std::vector<TokenLaw*> laws;
  for (int m = 0; m < num_members; ++m) {
    owned.push_back(MakeRowLaw(1 + static_cast<std::size_t>(m)));
    laws.push_back(owned.back().get());
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto sums, LogLikelihoods(predictor, laws, judged));
  return static_cast<int>(std::max_element(sums.begin(), sums.end()) - sums.begin());
}

}  // namespace submix::eval
