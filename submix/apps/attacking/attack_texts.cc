// `submix attack`, and its sub-commands on texts, extraction, exposure and targeted: what models
// and mechanisms give away of texts to somebody who knows the words before them. Each text is
// attacked under a fresh budget, so that all of it is spent on that text.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "submix/accounting/rdp_conversion.h"
#include "submix/apps/attacking/attack_target.h"
#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/base/progress_bar.h"
#include "submix/eval/attacks/attack_input.h"
#include "submix/eval/attacks/exposure.h"
#include "submix/eval/attacks/extraction.h"
#include "submix/eval/attacks/targeted.h"
#include "submix/eval/measuring/repeatable_draws.h"
#include "submix/eval/measuring/token_law.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

// --- What is attacked

// The target with its models loaded, and the laws over them.
struct AttackedModels {
  AttackTarget target;
  std::vector<AttackedLaw> laws;
  std::unique_ptr<ensemble::Predictor> predictor;
};

StatusOr<std::vector<AttackedLaw>> MakeLaws(const TargetFlags& flags, const AttackTarget& target) {
  std::vector<AttackedLaw> laws;
  for (const AttackedMechanism& attacked : target.mechanisms) {
    SUBMIX_ASSIGN_OR_RETURN(
        const eval::PrivacyClaim claim,
        eval::ClaimOf(*attacked.mechanism, attacked.epsilon, accounting::PrivacyUnit::kPart,
                      accounting::kDefaultDelta));
    AttackedLaw law = {attacked.options.name, attacked.Guarantee(), claim.labels, "", -1, nullptr};
    if (attacked.mechanism->is_private() && attacked.options.name != "public") {
      law.order = attacked.options.order.ToString();
      law.epsilon = attacked.epsilon;
    }
    SUBMIX_ASSIGN_OR_RETURN(law.law,
                            eval::MakeMechanismLaw(attacked.options, attacked.epsilon,
                                                   target.ensemble.manifest().halves, flags.seed));
    laws.push_back(std::move(law));
  }
  if (target.attacks_members) {
    laws.push_back({kMembers, "none", "nothing is claimed: not private", "", -1, nullptr});
  }
  return laws;
}

StatusOr<AttackedModels> LoadModels(const TargetFlags& flags) {
  AttackedModels models;
  SUBMIX_ASSIGN_OR_RETURN(models.target, LoadTarget(flags));
  SUBMIX_ASSIGN_OR_RETURN(models.laws, MakeLaws(flags, models.target));
  SUBMIX_ASSIGN_OR_RETURN(models.predictor, LoadTargetPredictor(flags, models.target));
  return models;
}

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

struct TextAttackOptions {
  TargetFlags target;
  OutputFlags output;
  std::string texts;  // the file
};

// Flags that these attacks share, and what to run.
template <typename Options>
Options& AddTextAttack(CLI::App& command, Action& action, Status (*run)(const Options&)) {
  Options& options = SetAction<Options>(command, action, run);
  options.target.takes_members = true;
  AddTargetFlags(command, options.target);
  return options;
}

void AddCodesFlag(Flags flags, TextAttackOptions& options) {
  flags.Require("--codes", options.texts, kFile,
                "JSONL of what stands in the training text: {\"prompt\": \"My number is:\", "
                "\"secret\": \" 4815\"}");
}

// --- extraction

struct ExtractionOptions : TextAttackOptions {
  std::vector<std::string> decoding = {"sampled"};
  int attempts = 100;
};

struct Attacked {
  std::int64_t codes = 0;
  std::int64_t extracted = 0;
  std::int64_t attempts = 0;
  std::int64_t hits = 0;
};

StatusOr<Attacked> ExtractCodes(const std::vector<eval::PlantedCode>& codes,
                                const ExtractionOptions& options, bool greedy,
                                const AttackedModels& models, const AttackedLaw& attacked,
                                base::ProgressBar& progress) {
  Attacked sum;
  for (const eval::PlantedCode& code : codes) {
    SUBMIX_ASSIGN_OR_RETURN(const auto law, LawFor(models, attacked, code));
    const auto random = eval::RepeatableDraws(options.target.seed, "extraction",
                                              static_cast<std::uint64_t>(sum.codes));
    const eval::ExtractionAttack attack = {code.prompt, code.secret, options.attempts, greedy};
    SUBMIX_ASSIGN_OR_RETURN(
        const eval::ExtractionResult result,
        eval::Extract(*models.predictor, *law, *models.target.tokenizer, attack, *random));
    ++sum.codes;
    sum.extracted += result.extracted() ? 1 : 0;
    sum.attempts += result.attempts;
    sum.hits += result.hits;
    progress.Advance(1);
  }
  return sum;
}

Json ExtractionRow(const AttackedLaw& law, const std::string& decoding, const Attacked& attacked) {
  Json row = ModelColumns(law);
  row["decoding"] = decoding;
  row["codes"] = attacked.codes;
  row["extracted"] = attacked.extracted;
  row["extracted_share"] =
      static_cast<double>(attacked.extracted) / static_cast<double>(attacked.codes);
  row["attempts"] = attacked.attempts;
  row["hits"] = attacked.hits;
  row["hit_rate"] = static_cast<double>(attacked.hits) / static_cast<double>(attacked.attempts);
  return row;
}

Status RunExtraction(const ExtractionOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const auto codes, eval::ReadPlantedCodes(options.texts));
  SUBMIX_ASSIGN_OR_RETURN(const AttackedModels models, LoadModels(options.target));
  AccountReport report;
  report.title = "Extraction: planted codes that " + std::to_string(options.attempts) +
                 " completions of their prompts contain";
  report.notes = {
      OperatorsNote(),
      "Each code is attacked under a fresh budget. Greedy takes the likeliest token of the "
      "mixture, which clients never see: a budget bounds probabilities, not which token is "
      "likeliest."};
  eval::Figure figure = {.name = "extraction",
                         .title = "Planted codes extracted",
                         .x_label = "epsilon (nats at the order)",
                         .y_label = "share of codes extracted by sampling",
                         .log_x = true};
  base::ProgressBar progress(
      "Attacking",
      static_cast<std::int64_t>(codes.size() * models.laws.size() * options.decoding.size()),
      "codes");
  for (const AttackedLaw& law : models.laws) {
    for (const std::string& decoding : options.decoding) {
      SUBMIX_ASSIGN_OR_RETURN(
          const Attacked attacked,
          ExtractCodes(codes, options, decoding == "greedy", models, law, progress));
      report.rows.push_back(ExtractionRow(law, decoding, attacked));
      if (decoding == "sampled") {
        AddPoint(law, report.rows.back()["extracted_share"].get<double>(), figure);
      }
    }
  }
  progress.Finish();
  return Deliver(options.output, models.target, report, figure);
}

// --- exposure

struct ExposureAttackOptions : TextAttackOptions {
  eval::ExposureOptions exposure;
};

Json ExposureRow(const AttackedLaw& law, std::size_t code, const eval::Exposure& exposure) {
  Json row = ModelColumns(law);
  row["code"] = code + 1;
  row["bits"] = std::log2(exposure.codes);
  row["rank"] = exposure.rank;
  row["ranked"] = exposure.ranked;
  row["is_exact"] = exposure.is_enumerated;
  row["exposure"] = exposure.by_rank;
  row["extrapolated"] = exposure.by_skew_normal;
  row["fit_distance"] = exposure.fit_distance;
  return row;
}

// One curve a model over epsilon: the mean over the codes.
eval::Figure MeanExposures(const std::vector<AttackedLaw>& laws, const Json& rows) {
  eval::Figure figure = {.name = "exposure",
                         .title = "Exposure of planted codes",
                         .x_label = "epsilon (nats at the order)",
                         .y_label = "mean exposure by rank (bits)",
                         .log_x = true};
  for (std::size_t i = 0; i < laws.size(); ++i) {
    double sum = 0;
    double count = 0;
    for (std::size_t row = i; row < rows.size(); row += laws.size()) {
      sum += rows[row]["exposure"].get<double>();
      ++count;
    }
    AddPoint(laws[i], sum / count, figure);
  }
  return figure;
}

Status RunExposure(const ExposureAttackOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const auto codes, eval::ReadPlantedCodes(options.texts));
  SUBMIX_ASSIGN_OR_RETURN(const std::int64_t total, eval::CodesToScore(codes, options.exposure));
  SUBMIX_ASSIGN_OR_RETURN(const AttackedModels models, LoadModels(options.target));
  AccountReport report;
  report.title = "Exposure: log2 of all codes less log2 of the planted one's rank, in bits";
  report.notes = {
      OperatorsNote(),
      "Where one rank is as likely as another it is 1.4 on average; compare with public. Each code "
      "is asked for under a fresh budget. If is_exact is false, the rank is among a sample, and "
      "extrapolated is by a skew-normal law fitted to it: as good as the fit (fit_distance is "
      "Kolmogorov and Smirnov's)."};
  base::ProgressBar progress("Scoring", total, "codes");
  for (std::size_t c = 0; c < codes.size(); ++c) {
    std::vector<std::shared_ptr<eval::TokenLaw>> laws;
    std::vector<eval::TokenLaw*> asked;
    for (const AttackedLaw& law : models.laws) {
      SUBMIX_ASSIGN_OR_RETURN(laws.emplace_back(), LawFor(models, law, codes[c]));
      asked.push_back(laws.back().get());
    }
    const auto random = eval::RepeatableDraws(options.target.seed, "exposure", c);
    SUBMIX_ASSIGN_OR_RETURN(
        const auto exposures,
        eval::MeasureExposure(*models.predictor, asked, *models.target.tokenizer, codes[c],
                              options.exposure, *random, [&] { progress.Advance(1); }));
    for (std::size_t i = 0; i < laws.size(); ++i) {
      report.rows.push_back(ExposureRow(models.laws[i], c, exposures[i]));
    }
  }
  progress.Finish();
  return Deliver(options.output, models.target, report, MeanExposures(models.laws, report.rows));
}

// --- targeted

struct TargetedAttackOptions : TextAttackOptions {
  int guesses = 1;
};

StatusOr<eval::TargetedSummary> GuessSuffixes(const std::vector<eval::TargetedExample>& examples,
                                              const TargetedAttackOptions& options,
                                              const AttackedModels& models,
                                              const AttackedLaw& attacked,
                                              base::ProgressBar& progress) {
  std::vector<eval::TargetedGuess> guesses;
  for (const eval::TargetedExample& example : examples) {
    SUBMIX_ASSIGN_OR_RETURN(const auto law, LawFor(models, attacked, example));
    const auto random = eval::RepeatableDraws(options.target.seed, "targeted", guesses.size());
    SUBMIX_ASSIGN_OR_RETURN(
        guesses.emplace_back(),
        eval::GuessSuffix(*models.predictor, *law, example, options.guesses, *random));
    progress.Advance(1);
  }
  return eval::Summarise(guesses);
}

Json TargetedRow(const AttackedLaw& law, const eval::TargetedSummary& summary) {
  Json row = ModelColumns(law);
  row["examples"] = summary.examples;
  row["right"] = summary.right;
  row["recall"] = summary.recall;
  row["recall_at_100_errors"] = summary.recall_at_100_errors;
  row["tokens_right"] = summary.tokens_right;
  return row;
}

eval::FigureCurve PrecisionCurve(const AttackedLaw& law, const eval::TargetedSummary& summary) {
  eval::FigureCurve curve = {.name = law.ModelAndCost(), .guarantee = law.promise};
  for (const eval::TargetedPoint& point : summary.curve) {
    curve.points.push_back({.x = point.recall, .y = point.precision});
  }
  return curve;
}

Status RunTargeted(const TargetedAttackOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const AttackedModels models, LoadModels(options.target));
  SUBMIX_ASSIGN_OR_RETURN(const auto examples,
                          eval::ReadTargetedExamples(options.texts, *models.target.tokenizer));
  AccountReport report;
  report.title = "Targeted extraction: suffixes of private text guessed from their prefixes";
  report.notes = {
      OperatorsNote(),
      "One guess an example, each under a fresh budget. The greedy guess (--guesses 1) takes the "
      "likeliest token of the mixture, which clients never see. What public models guess alike "
      "was not learned from the private text: compare with --against public."};
  eval::Figure figure = {.name = "targeted",
                         .title = "Targeted extraction",
                         .x_label = "recall",
                         .y_label = "precision"};
  base::ProgressBar progress(
      "Guessing", static_cast<std::int64_t>(examples.size() * models.laws.size()), "suffixes");
  for (const AttackedLaw& law : models.laws) {
    SUBMIX_ASSIGN_OR_RETURN(const eval::TargetedSummary summary,
                            GuessSuffixes(examples, options, models, law, progress));
    report.rows.push_back(TargetedRow(law, summary));
    figure.curves.push_back(PrecisionCurve(law, summary));
  }
  progress.Finish();
  return Deliver(options.output, models.target, report, figure);
}

void AddExtractionAttack(CLI::App& attack, Action& action) {
  CLI::App& command = *attack.add_subcommand(
      "extraction", "Do completions give planted codes away? (SubMix, section 4.2)");
  ExtractionOptions& options = AddTextAttack<ExtractionOptions>(command, action, RunExtraction);
  Flags flags(command);
  AddCodesFlag(command, options);
  flags.Add("--decoding", options.decoding, OneOf({"sampled", "greedy"}),
            "sampled, greedy, or both");
  flags.Add("--attempts", options.attempts, kPositive, "Completions drawn for each code");
  AddOutputFlags(command, options.output, "the share of codes extracted over epsilon");
  command.footer(
      "Example: submix attack extraction my_ensemble --codes codes.jsonl \\\n"
      "             --against members,filtered-submix,dclip --epsilon 1,2,4,8");
}

void AddExposureAttack(CLI::App& attack, Action& action) {
  CLI::App& command = *attack.add_subcommand(
      "exposure", "How many bits of planted codes do likelihoods give away? (Carlini and others)");
  ExposureAttackOptions& options =
      AddTextAttack<ExposureAttackOptions>(command, action, RunExposure);
  Flags flags(command);
  AddCodesFlag(command, options);
  flags.Add("--alphabet", options.exposure.alphabet,
            "Characters of a code that might have been others; the rest of it is known");
  flags.Add("--enumerate-up-to", options.exposure.enumerate_up_to, kPositive,
            "So many codes are all ranked; of more, a sample is");
  flags.Add("--samples", options.exposure.samples, Between(8, 100000000), "Codes of a sample");
  AddOutputFlags(command, options.output, "mean exposure over epsilon");
  command.footer(
      "Example: submix attack exposure my_ensemble --codes codes.jsonl \\\n"
      "             --against members,filtered-submix,public");
}

void AddTargetedAttack(CLI::App& attack, Action& action) {
  CLI::App& command = *attack.add_subcommand(
      "targeted", "From prefixes of private text, guess what follows (the extraction challenge)");
  TargetedAttackOptions& options =
      AddTextAttack<TargetedAttackOptions>(command, action, RunTargeted);
  Flags flags(command);
  flags.Require(
      "--examples", options.texts, kFile,
      "JSONL: {\"prefix\": ..., \"suffix\": ...}, both texts or both arrays of token ids");
  flags.Add("--guesses", options.guesses, kPositive,
            "1: the likeliest token each time; more: the likeliest of so many samples");
  AddOutputFlags(command, options.output, "precision over recall, surest guesses first");
  command.footer(
      "Example: submix attack targeted my_ensemble --examples examples.jsonl \\\n"
      "             --against members,filtered-submix,public");
}

}  // namespace

void AddAttackCommand(CLI::App& command, Action& action) {
  command.require_subcommand(1);
  AddExtractionAttack(command, action);
  AddExposureAttack(command, action);
  AddTargetedAttack(command, action);
  AddMembershipAttack(command, action);
  command.footer(
      "Against any mechanism under any budget, or the members themselves, on an ensemble or a\n"
      "deployment. Nothing is charged: every attack has budgets of its own, in memory. What each\n"
      "number says and does not say: docs/attacks_and_audits.md.");
}

}  // namespace submix::apps
