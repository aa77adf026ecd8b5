// `submix worth`: what a model learns from synthetic text, beside what it learns from real text.
#include <cstdint>
#include <string>
#include <vector>

#include "submix/apps/interrupt.h"
#include "submix/apps/measuring/corpus_flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/report.h"
#include "submix/apps/serving/model_flags.h"
#include "submix/apps/training/fine_tune_flags.h"
#include "submix/base/progress_bar.h"
#include "submix/eval/measuring/perplexity_runs.h"
#include "submix/eval/measuring/token_scores.h"
#include "submix/workbench/models/open_models.h"
#include "submix/workbench/training/text_worth.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;

struct WorthOptions {
  workbench::WorthRequest request;
  std::string ensemble;
  std::string codes;
  bool json = false;
};

// Row 0 of the scores and exposures is the public model's, row 1 that of the real text.
CommandReport Report(const workbench::WorthTexts& texts,
                     const std::vector<eval::TokenScores>& scores,
                     const std::vector<double>& exposures, bool has_control) {
  CommandReport report;
  report.title =
      "Operator's view, outside the budget: publishing these numbers, or choosing text by them, is "
      "a release of its own.";
  report.notes = {
      "The public model is fine-tuned on " + std::to_string(texts.tokens) +
      " tokens of each text, by one recipe, and scored on real text that was held out. kept: the "
      "share of what real text gains in perplexity."};
  if (!exposures.empty()) {
    report.notes.push_back(
        "exposure: log2 of all codes less log2 of the planted one's rank by the model's "
        "likelihoods, in bits, mean over the codes; 1.4 where a rank is as likely as another.");
  }
  const auto as_run = [&](std::size_t row) {
    return eval::PerplexityRuns{.runs = {scores[row].perplexity()}};
  };
  const auto add = [&](const std::string& name, std::int64_t read, std::size_t row) {
    const auto positions = static_cast<double>(scores[row].log_probabilities.size());
    report.rows.push_back(
        {{"text", name},
         {"tokens", read},
         {"perplexity", scores[row].perplexity()},
         {"accuracy_top1", static_cast<double>(scores[row].likeliest) / positions},
         {"kept", eval::Kept(as_run(0), as_run(row), as_run(1)).value}});
    if (!exposures.empty()) report.rows.back()["exposure"] = exposures[row];
  };
  const std::size_t synthetic = texts.training.size() - (has_control ? 1 : 0);
  for (std::size_t i = 1; i < synthetic; ++i) add(texts.training[i].name, texts.tokens, i + 1);
  if (has_control) {
    add("public model's own text", texts.tokens, synthetic + 1);
    report.notes.push_back(
        "The public model's own text is the control: what is learned from it was not learned from "
        "users. It is " +
        texts.training.back().name + "; `submix compare` reads it, too.");
  }
  add(texts.training.front().name, texts.tokens, 1);
  add("none (public model)", 0, 0);
  return report;
}

Status RunWorth(const WorthOptions& options) {
  SayGoesOnAtInterrupt();
  SUBMIX_ASSIGN_OR_RETURN(const auto ensemble, ensemble::OpenedEnsemble::Open(options.ensemble));
  if (ensemble.manifest().external.has_value()) return ensemble.CheckHasModels();
  std::vector<eval::PlantedCode> codes;
  if (!options.codes.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(codes, eval::ReadPlantedCodes(options.codes));
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer, workbench::LoadTokenizer(ensemble));
  SUBMIX_ASSIGN_OR_RETURN(const auto texts,
                          workbench::LoadWorthTexts(options.request, ensemble, *tokenizer));
  SUBMIX_ASSIGN_OR_RETURN(const auto predictor,
                          workbench::FineTuneOn(texts, options.request, ensemble, *tokenizer));
  base::ProgressBar progress("Scoring", eval::CountScoredTokens(texts.heldout), "tokens");
  SUBMIX_ASSIGN_OR_RETURN(const auto scores,
                          eval::ScoreTokens(*predictor, texts.heldout, progress));
  progress.Finish();
  std::vector<double> exposures;
  if (!codes.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(exposures, workbench::MeanExposures(codes, *tokenizer, *predictor));
  }
  PrintReport(Report(texts, scores, exposures, options.request.has_control), options.json);
  return base::OkStatus();
}

}  // namespace

void AddWorthCommand(CLI::App& command, Action& action) {
  WorthOptions& options = SetAction<WorthOptions>(command, action, RunWorth);
  workbench::WorthRequest& request = options.request;
  request.precision = workbench::DefaultTrainingPrecision();
  Flags flags(command);
  flags.Require("synthetic", request.synthetic, kFile, "Files made by `submix synthesize`");
  RequireCorpus(flags, "--corpus", "The corpus that the models read", request.corpus);
  flags.Require("--ensemble", options.ensemble, kDirectory,
                "Directory made by `submix train` or `submix contexts`: its public model is "
                "fine-tuned, and it says whose text was held out");
  flags.Add("--heldout", request.heldout, kFile,
            "Score other real text, .jsonl or .csv (every user) or plain; all of the corpus then "
            "counts as read");
  flags.Require("--models", request.models,
                "Directory for the fine-tuned models, to make or to go on with; as private as the "
                "corpus");
  flags.Add("--codes", options.codes, kFile,
            "Secrets that were planted in the corpus, {\"prompt\": …, \"secret\": …} a line: their "
            "exposure by each model");
  flags.Add("--control,!--no-control", request.has_control,
            "Also fine-tune on as much text that the public model writes by itself");
  AddModelFlags(command, request.predictor);
  flags.Add("--json", options.json, "One JSON object");
  command.footer(
      "As many tokens of every text are read, those of the smallest, by the recipe that\n"
      "`submix train` recommends for so many; the real text is a sample of users who were read.\n"
      "Interrupted? Run the same command again: finished models are kept, the last one goes on.\n"
      "Example: submix worth reviews.jsonl --corpus text.jsonl --ensemble my_ensemble --models "
      "worth");
}

}  // namespace submix::apps
