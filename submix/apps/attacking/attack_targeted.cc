// `submix attack targeted`: from the words before a piece of private text, what follows it?
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "submix/apps/attacking/attack_output.h"
#include "submix/apps/attacking/attack_target.h"
#include "submix/apps/attacking/subcommands.h"
#include "submix/apps/flags.h"
#include "submix/base/progress_bar.h"
#include "submix/eval/attacks/targeted.h"
#include "submix/eval/measuring/repeatable_draws.h"
#include "submix/eval/measuring/token_law.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

struct TargetedAttackOptions {
  TargetFlags target;
  OutputFlags output;
  eval::TargetedOptions targeted;
  std::string examples;
};

// Every example under a fresh budget.
StatusOr<eval::TargetedSummary> Attack(const std::vector<eval::TargetedExample>& examples,
                                       const TargetedAttackOptions& options,
                                       const AttackedModels& models, const AttackedLaw& attacked,
                                       base::ProgressBar& progress) {
  std::vector<eval::TargetedGuess> guesses;
  for (const eval::TargetedExample& example : examples) {
    eval::JudgedTokens text = {example.prefix, example.prefix.size()};
    text.tokens.insert(text.tokens.end(), example.suffix.begin(), example.suffix.end());
    SUBMIX_ASSIGN_OR_RETURN(const auto law, models.LawFor(attacked, text));
    SUBMIX_RETURN_IF_ERROR(law->Renew());
    const auto random = eval::RepeatableDraws(options.target.seed, "targeted", guesses.size());
    SUBMIX_ASSIGN_OR_RETURN(
        guesses.emplace_back(),
        eval::GuessSuffix(*models.predictor, *law, example, options.targeted, *random));
    progress.Advance(1);
  }
  return eval::Summarise(guesses);
}

Json Row(const AttackedLaw& law, const eval::TargetedSummary& summary) {
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
                          eval::ReadTargetedExamples(options.examples, *models.target.tokenizer));
  AccountReport report;
  report.title = "Targeted extraction: suffixes of private text guessed from their prefixes";
  report.notes = {
      OperatorsNote(),
      "One guess an example, each under a fresh budget. The greedy guess (--guesses 1) takes the "
      "likeliest token of the mixture, which clients never see. What public models guess alike was "
      "not learned from the private text: compare with --against public."};
  eval::Figure figure = {.name = "targeted",
                         .title = "Targeted extraction",
                         .x_label = "recall",
                         .y_label = "precision"};
  base::ProgressBar progress(
      "Guessing", static_cast<std::int64_t>(examples.size() * models.laws.size()), "suffixes");
  for (const AttackedLaw& law : models.laws) {
    SUBMIX_ASSIGN_OR_RETURN(const eval::TargetedSummary summary,
                            Attack(examples, options, models, law, progress));
    report.rows.push_back(Row(law, summary));
    figure.curves.push_back(PrecisionCurve(law, summary));
  }
  progress.Finish();
  return Deliver(options.output, models.target, report, figure);
}

}  // namespace

void AddTargetedAttack(CLI::App& attack, Action& action) {
  CLI::App& command = *attack.add_subcommand(
      "targeted", "From prefixes of private text, guess what follows (the extraction challenge)");
  TargetedAttackOptions& options = SetAction<TargetedAttackOptions>(command, action, RunTargeted);
  Flags flags(command);
  options.target.takes_members = true;
  AddTargetFlags(command, options.target);
  flags.Require(
      "--examples", options.examples, kFile,
      "JSONL: {\"prefix\": ..., \"suffix\": ...}, both texts or both arrays of token ids");
  flags.Add("--guesses", options.targeted.guesses, kPositive,
            "1: the likeliest token each time; more: the likeliest of so many samples");
  AddOutputFlags(command, options.output, "precision over recall, surest guesses first");
  command.footer(
      "Example: submix attack targeted my_ensemble --examples examples.jsonl \\\n             "
      "--against members,filtered-submix,public");
}

}  // namespace submix::apps
