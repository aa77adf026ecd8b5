#include "submix/eval/figures/decoding_examples.h"

#include <cmath>
#include <span>

#include "submix/eval/measuring/repeatable_draws.h"
#include "submix/eval/measuring/token_law.h"

namespace submix::eval {
namespace {

using base::StatusOr;

constexpr std::size_t kTokens = 24;

StatusOr<std::string> CompletionAt(double mixing_weight, ensemble::Predictor& predictor,
                                   const tokenizer::Tokenizer& tokenizer,
                                   std::span<const base::TokenId> prompt, std::uint64_t seed,
                                   std::uint64_t number) {
  mechanism::MechanismOptions options;
  options.name = "dp-decoding";
  options.num_parts = 1;
  options.order = divergence::RenyiOrder::Infinity();
  // A little more, so that rounding leaves the weight whole.
  options.target_leakage = 1.0001 * DpDecodingTokenNats(mixing_weight, predictor.vocab_size());
  const double epsilon = 1.001 * kTokens * options.target_leakage;
  SUBMIX_ASSIGN_OR_RETURN(const auto law, MakeMechanismLaw(options, epsilon, /*halves=*/1, seed));
  const auto random = RepeatableDraws(seed, "decoding examples", number);
  SUBMIX_ASSIGN_OR_RETURN(const auto sampled,
                          Complete(predictor, *law, prompt, {.tokens = kTokens}, *random));
  return tokenizer.Decode(sampled.front().tokens);
}

}  // namespace

double DpDecodingTokenNats(double mixing_weight, int vocab_size) {
  return std::log1p(mixing_weight * vocab_size / (1 - mixing_weight));
}

StatusOr<std::vector<DecodingExample>> SampleDecodingExamples(
    ensemble::Predictor& predictor, const tokenizer::Tokenizer& tokenizer,
    const HeldoutBlocks& blocks, const std::vector<double>& mixing_weights, int count,
    std::uint64_t seed) {
  std::vector<DecodingExample> examples;
  for (const std::vector<base::TokenId>& block : blocks) {
    if (static_cast<int>(examples.size()) == count) break;
    if (block.size() < 2 * kTokens) continue;
    const std::span<const base::TokenId> tokens(block);
    DecodingExample& example = examples.emplace_back();
    example.prompt = tokenizer.Decode(tokens.first(kTokens));
    example.truth = tokenizer.Decode(tokens.subspan(kTokens, kTokens));
    for (const double weight : mixing_weights) {
      SUBMIX_ASSIGN_OR_RETURN(
          example.completions.emplace_back(),
          CompletionAt(weight, predictor, tokenizer, tokens.first(kTokens), seed, examples.size()));
    }
  }
  if (examples.empty()) {
    return base::InvalidArgumentError("no text has the " + std::to_string(2 * kTokens) +
                                      " tokens of an example");
  }
  return examples;
}

}  // namespace submix::eval
