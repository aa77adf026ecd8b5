#include "submix/workbench/attacking/text_attacks.h"

#include <memory>

#include "submix/eval/attacks/extraction.h"
#include "submix/eval/measuring/repeatable_draws.h"
#include "submix/eval/measuring/token_law.h"

namespace submix::workbench {
namespace {

using base::StatusOr;

StatusOr<eval::JudgedTokens> JudgedText(const tokenizer::Tokenizer& tokenizer,
                                        const eval::PlantedCode& code) {
  return eval::Judged(tokenizer, code.prompt, code.secret);
}

StatusOr<eval::JudgedTokens> JudgedText(const tokenizer::Tokenizer&,
                                        const eval::TargetedExample& example) {
  eval::JudgedTokens text = {example.prefix, example.prefix.size()};
  text.tokens.insert(text.tokens.end(), example.suffix.begin(), example.suffix.end());
  return text;
}

// The law to ask for this text, under a fresh budget: `law`, or that of the member under which it
// is likeliest.
template <typename Text>
StatusOr<std::shared_ptr<eval::TokenLaw>> LawFor(const AttackedModels& models,
                                                 const AttackedLaw& law, const Text& text) {
  if (law.law != nullptr) {
    SUBMIX_RETURN_IF_ERROR(law.law->Renew());
    return law.law;
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto judged, JudgedText(*models.target.tokenizer, text));
  const auto num_members =
      static_cast<std::size_t>(models.target.ensemble.manifest().num_members());
  SUBMIX_ASSIGN_OR_RETURN(std::shared_ptr<eval::TokenLaw> likeliest,
                          eval::LikeliestMemberLaw(*models.predictor, num_members, judged));
  return likeliest;
}

}  // namespace

StatusOr<ExtractedCodes> ExtractCodes(const std::vector<eval::PlantedCode>& codes, int attempts,
                                      bool greedy, std::uint64_t seed, const AttackedModels& models,
                                      const AttackedLaw& law, const Advance& advance) {
  ExtractedCodes sum;
  for (const eval::PlantedCode& code : codes) {
    SUBMIX_ASSIGN_OR_RETURN(const auto asked, LawFor(models, law, code));
    const auto random =
        eval::RepeatableDraws(seed, "extraction", static_cast<std::uint64_t>(sum.codes));
    const eval::ExtractionAttack attack = {code.prompt, code.secret, attempts, greedy};
    SUBMIX_ASSIGN_OR_RETURN(
        const eval::ExtractionResult result,
        eval::Extract(*models.predictor, *asked, *models.target.tokenizer, attack, *random));
    ++sum.codes;
    sum.extracted += result.extracted() ? 1 : 0;
    sum.attempts += result.attempts;
    sum.hits += result.hits;
    advance();
  }
  return sum;
}

StatusOr<std::vector<eval::Exposure>> ExposeCode(const eval::PlantedCode& code,
                                                 std::uint64_t number,
                                                 const eval::ExposureOptions& options,
                                                 std::uint64_t seed, const AttackedModels& models,
                                                 const Advance& advance) {
  std::vector<std::shared_ptr<eval::TokenLaw>> laws;
  std::vector<eval::TokenLaw*> asked;
  for (const AttackedLaw& law : models.laws) {
    SUBMIX_ASSIGN_OR_RETURN(laws.emplace_back(), LawFor(models, law, code));
    asked.push_back(laws.back().get());
  }
  const auto random = eval::RepeatableDraws(seed, "exposure", number);
  return eval::MeasureExposure(*models.predictor, asked, *models.target.tokenizer, code, options,
                               *random, advance);
}

StatusOr<eval::TargetedSummary> GuessSuffixes(const std::vector<eval::TargetedExample>& examples,
                                              int guesses, std::uint64_t seed,
                                              const AttackedModels& models, const AttackedLaw& law,
                                              const Advance& advance) {
  std::vector<eval::TargetedGuess> found;
  for (const eval::TargetedExample& example : examples) {
    SUBMIX_ASSIGN_OR_RETURN(const auto asked, LawFor(models, law, example));
    const auto random = eval::RepeatableDraws(seed, "targeted", found.size());
    SUBMIX_ASSIGN_OR_RETURN(found.emplace_back(), eval::GuessSuffix(*models.predictor, *asked,
                                                                    example, guesses, *random));
    advance();
  }
  return eval::Summarise(found);
}

}  // namespace submix::workbench
