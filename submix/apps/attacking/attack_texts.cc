// `submix attack`, and its sub-commands on texts, extraction, exposure and targeted: what models
// and mechanisms give away of texts to somebody who knows the words before them. Each text is
// attacked under a fresh budget, so that all of it is spent on that text.
#include <cmath>
#include <string>
#include <vector>

#include "submix/apps/attacking/attack_target.h"
#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/base/progress_bar.h"
#include "submix/workbench/attacking/text_attacks.h"

namespace submix::apps {
namespace {

using base::Status;
using Json = nlohmann::ordered_json;

struct TextAttackOptions {
  TargetFlags target;
  OutputFlags output;
  std::string texts;  // the file
};

// Flags that these attacks share, and what to run.
template <typename Options>
Options& AddTextAttack(CLI::App& command, Action& action, Status (*run)(const Options&)) {
  Options& options = SetAction<Options>(command, action, run);
  options.target.request.takes_members = true;
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

Json ExtractionRow(const workbench::AttackedLaw& law, const std::string& decoding,
                   const workbench::ExtractedCodes& attacked) {
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
  const workbench::AttackRequest request = options.target.Request();
  SUBMIX_ASSIGN_OR_RETURN(const auto models, workbench::LoadAttackedModels(request));
  CommandReport report;
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
  for (const workbench::AttackedLaw& law : models.laws) {
    for (const std::string& decoding : options.decoding) {
      SUBMIX_ASSIGN_OR_RETURN(
          const auto attacked,
          workbench::ExtractCodes(codes, options.attempts, decoding == "greedy", request.seed,
                                  models, law, [&] { progress.Advance(1); }));
      report.rows.push_back(ExtractionRow(law, decoding, attacked));
      if (decoding == "sampled") {
        AddPoint(law, report.rows.back()["extracted_share"].get<double>(), figure);
      }
    }
  }
  progress.Finish();
  return Deliver(options.output, {"attack extraction", request.directory, models.target}, report,
                 figure);
}

// --- exposure

struct ExposureAttackOptions : TextAttackOptions {
  eval::ExposureOptions exposure;
};

Json ExposureRow(const workbench::AttackedLaw& law, std::size_t code,
                 const eval::Exposure& exposure) {
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
eval::Figure MeanExposures(const std::vector<workbench::AttackedLaw>& laws, const Json& rows) {
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
  const workbench::AttackRequest request = options.target.Request();
  SUBMIX_ASSIGN_OR_RETURN(const auto models, workbench::LoadAttackedModels(request));
  CommandReport report;
  report.title = "Exposure: log2 of all codes less log2 of the planted one's rank, in bits";
  report.notes = {
      OperatorsNote(),
      "Where one rank is as likely as another it is 1.4 on average; compare with public. Each code "
      "is asked for under a fresh budget. If is_exact is false, the rank is among a sample, and "
      "extrapolated is by a skew-normal law fitted to it: as good as the fit (fit_distance is "
      "Kolmogorov and Smirnov's)."};
  base::ProgressBar progress("Scoring", total, "codes");
  for (std::size_t c = 0; c < codes.size(); ++c) {
    SUBMIX_ASSIGN_OR_RETURN(const auto exposures,
                            workbench::ExposeCode(codes[c], c, options.exposure, request.seed,
                                                  models, [&] { progress.Advance(1); }));
    for (std::size_t i = 0; i < exposures.size(); ++i) {
      report.rows.push_back(ExposureRow(models.laws[i], c, exposures[i]));
    }
  }
  progress.Finish();
  return Deliver(options.output, {"attack exposure", request.directory, models.target}, report,
                 MeanExposures(models.laws, report.rows));
}

// --- targeted

struct TargetedAttackOptions : TextAttackOptions {
  int guesses = 1;
};

Json TargetedRow(const workbench::AttackedLaw& law, const eval::TargetedSummary& summary) {
  Json row = ModelColumns(law);
  row["examples"] = summary.examples;
  row["right"] = summary.right;
  row["recall"] = summary.recall;
  row["recall_at_100_errors"] = summary.recall_at_100_errors;
  row["tokens_right"] = summary.tokens_right;
  return row;
}

eval::FigureCurve PrecisionCurve(const workbench::AttackedLaw& law,
                                 const eval::TargetedSummary& summary) {
  eval::FigureCurve curve = {.name = law.ModelAndCost(), .guarantee = law.promise};
  for (const eval::TargetedPoint& point : summary.curve) {
    curve.points.push_back({.x = point.recall, .y = point.precision});
  }
  return curve;
}

Status RunTargeted(const TargetedAttackOptions& options) {
  const workbench::AttackRequest request = options.target.Request();
  SUBMIX_ASSIGN_OR_RETURN(const auto models, workbench::LoadAttackedModels(request));
  SUBMIX_ASSIGN_OR_RETURN(const auto examples,
                          eval::ReadTargetedExamples(options.texts, *models.target.tokenizer));
  CommandReport report;
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
  for (const workbench::AttackedLaw& law : models.laws) {
    SUBMIX_ASSIGN_OR_RETURN(const eval::TargetedSummary summary,
                            workbench::GuessSuffixes(examples, options.guesses, request.seed,
                                                     models, law, [&] { progress.Advance(1); }));
    report.rows.push_back(TargetedRow(law, summary));
    figure.curves.push_back(PrecisionCurve(law, summary));
  }
  progress.Finish();
  return Deliver(options.output, {"attack targeted", request.directory, models.target}, report,
                 figure);
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
  CLI::App& command =
      *attack.add_subcommand("exposure", "Bits of planted codes that likelihoods give away");
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
  CLI::App& command =
      *attack.add_subcommand("targeted", "Guess what follows prefixes of private text");
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
