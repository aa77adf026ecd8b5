// The law of the next token as an attack meets it: of one model, served as it is, or of a mechanism
// under a budget of its own. How likely given text is under it, and text drawn from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/ensemble/predictor.h"
#include "submix/mechanism/mechanism_options.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::eval {

// One thread at a time.
class TokenLaw {
 public:
  virtual ~TokenLaw() = default;

  // One token: logits [rows, V] as a predictor gives them, row 0 the public model; writes the
  // probability of every token, [V]. Errors: kInternal if the logits that count are not finite; the
  // mechanism's.
  virtual base::Status Next(std::span<const float> logits, std::span<double> pmf) = 0;
  // As if nothing had been asked yet: a fresh budget.
  virtual base::Status Renew() = 0;
};

// One row of the predictor: 0 the public model, 1 + m member m.
std::unique_ptr<TokenLaw> MakeRowLaw(std::size_t row);

// A mechanism over the first options.num_parts * halves members, which answers as a deployment with
// a budget of `epsilon` would; when it is used up, from the public model. Errors: kInvalidArgument
// for options out of range or too few halves.
base::StatusOr<std::unique_ptr<TokenLaw>> MakeMechanismLaw(
    const mechanism::MechanismOptions& options, double epsilon, int halves, std::uint64_t seed);

// --- How likely given text is

// Tokens of which those from `first` on are judged given those before. first >= 1.
struct JudgedTokens {
  std::vector<base::TokenId> tokens;
  std::size_t first = 1;
};

// The tokens of prompt + text. A token that holds the end of the prompt and the beginning of the
// text is judged. Errors: kInvalidArgument if that leaves no token before, or none to judge.
base::StatusOr<JudgedTokens> Judged(const tokenizer::Tokenizer& tokenizer,
                                    const std::string& prompt, const std::string& text);

// log P of the judged tokens in nats, one a law; each token is one of the
// law's. -infinity is possible.
// Errors: the predictor's and the laws'.
base::StatusOr<std::vector<double>> LogLikelihoods(ensemble::Predictor& predictor,
                                                   std::span<TokenLaw* const> laws,
                                                   const JudgedTokens& judged);

// The law of that of the first `num_members` members under which the judged tokens are likeliest.
// Errors: the predictor's.
base::StatusOr<std::unique_ptr<TokenLaw>> LikeliestMemberLaw(ensemble::Predictor& predictor,
                                                             std::size_t num_members,
                                                             const JudgedTokens& judged);

// --- Text drawn from a law, or its likeliest tokens one after the other

// Sequences in one batch.
inline constexpr int kSequencesAtATime = 25;

struct CompletionOptions {
  std::size_t tokens = 1;  // of each completion
  int count = 1;           // completions
  bool greedy = false;     // the likeliest token each time (the first of several)
};

struct Completion {
  std::vector<base::TokenId> tokens;
  double log_probability = 0;  // of the tokens, nats
};

// Every token is one of the law's. Errors: the predictor's, such as a prompt that does not fit
// the context; the law's.
base::StatusOr<std::vector<Completion>> Complete(ensemble::Predictor& predictor, TokenLaw& law,
                                                 std::span<const base::TokenId> prompt,
                                                 const CompletionOptions& options,
                                                 base::RandomSource& random);

}  // namespace submix::eval
