// How likely given text is under laws of tokens.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/ensemble/predictor.h"
#include "submix/eval/measuring/token_law.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::eval {

// Tokens of which those from `first` on are judged given those before. first >= 1.
struct JudgedTokens {
  std::vector<base::TokenId> tokens;
  std::size_t first = 1;
};

// The tokens of prompt + text. A token that holds the end of the prompt and the beginning of the
// text is judged. Errors: kInvalidArgument if that leaves no token before, or none to judge.
base::StatusOr<JudgedTokens> Judged(const tokenizer::Tokenizer& tokenizer,
                                    const std::string& prompt, const std::string& text);

// log P of the judged tokens in nats, one a law; each token is a query. -infinity is possible.
// Errors: the predictor's and the laws'.
base::StatusOr<std::vector<double>> LogLikelihoods(ensemble::Predictor& predictor,
                                                   std::span<TokenLaw* const> laws,
                                                   const JudgedTokens& judged);

// The law of that of the first `num_members` members under which the judged tokens are likeliest.
// Errors: the predictor's.
base::StatusOr<std::unique_ptr<TokenLaw>> LikeliestMemberLaw(ensemble::Predictor& predictor,
                                                             std::size_t num_members,
                                                             const JudgedTokens& judged);

}  // namespace submix::eval
