#include "submix/eval/measuring/likelihood.h"

#include <algorithm>
#include <cmath>
#include <utility>

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

StatusOr<std::unique_ptr<TokenLaw>> LikeliestMemberLaw(ensemble::Predictor& predictor,
                                                       std::size_t num_members,
                                                       const JudgedTokens& judged) {
  std::vector<std::unique_ptr<TokenLaw>> members;
  std::vector<TokenLaw*> laws;
  for (std::size_t m = 0; m < num_members; ++m) {
    members.push_back(MakeRowLaw(1 + m));
    laws.push_back(members.back().get());
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto sums, LogLikelihoods(predictor, laws, judged));
  const auto likeliest = std::max_element(sums.begin(), sums.end()) - sums.begin();
  return std::move(members[static_cast<std::size_t>(likeliest)]);
}

}  // namespace submix::eval
