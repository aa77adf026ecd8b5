#include "submix/eval/attacks/extraction.h"

#include <algorithm>
#include <map>
#include <vector>

namespace submix::eval {
namespace {

using base::StatusOr;

// A completion as long as the secret is enough: a longer one only costs.
StatusOr<std::size_t> CompletionTokens(const tokenizer::Tokenizer& tokenizer,
                                       const ExtractionAttack& attack) {
  SUBMIX_ASSIGN_OR_RETURN(const auto secret, tokenizer.Encode(attack.secret));
  return secret.size() + 1;
}

}  // namespace

StatusOr<ExtractionResult> Extract(ensemble::Predictor& predictor, TokenLaw& law,
                                   const tokenizer::Tokenizer& tokenizer,
                                   const ExtractionAttack& attack, base::RandomSource& random) {
  SUBMIX_ASSIGN_OR_RETURN(const std::size_t tokens, CompletionTokens(tokenizer, attack));
  SUBMIX_ASSIGN_OR_RETURN(const auto prompt, tokenizer.EncodePrompt(attack.prompt));
  const CompletionOptions options = {
      .tokens = tokens, .count = attack.greedy ? 1 : attack.attempts, .greedy = attack.greedy};
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<Completion> completions,
                          Complete(predictor, law, prompt, options, random));
  ExtractionResult result{options.count, 0};
  for (const Completion& completion : completions) {
    if (tokenizer.Decode(completion.tokens).find(attack.secret) != std::string::npos) ++result.hits;
  }
  return result;
}

StatusOr<ExtractionResult> ExtractFromEngine(engine::EngineCore& engine,
                                             const tokenizer::Tokenizer& tokenizer,
                                             const ExtractionAttack& attack) {
  engine::Request request;
  SUBMIX_ASSIGN_OR_RETURN(request.prompt, tokenizer.EncodePrompt(attack.prompt));
  SUBMIX_ASSIGN_OR_RETURN(const std::size_t tokens, CompletionTokens(tokenizer, attack));
  request.max_tokens = static_cast<int>(tokens);
  ExtractionResult result;
  while (result.attempts < attack.attempts) {
    const int count = std::min(kSequencesAtATime, attack.attempts - result.attempts);
    std::map<std::int64_t, std::string> completions;
    for (int i = 0; i < count; ++i) {
      SUBMIX_ASSIGN_OR_RETURN(const std::int64_t request_id, engine.Admit(request));
      completions[request_id];
    }
    while (!engine.idle()) {
      SUBMIX_ASSIGN_OR_RETURN(const auto events, engine.Step());
      for (const engine::TokenEvent& event : events) completions[event.request_id] += event.text;
    }
    for (const auto& [request_id, text] : completions) {
      if (text.find(attack.secret) != std::string::npos) ++result.hits;
    }
    result.attempts += count;
  }
  return result;
}

}  // namespace submix::eval
