// `submix worth`: what a model learns from synthetic text, beside what it learns from real text.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "submix/apps/interrupt.h"
#include "submix/apps/measuring/account_report.h"
#include "submix/apps/measuring/corpus_flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/serving/model_flags.h"
#include "submix/apps/training/fine_tune_flags.h"
#include "submix/base/file_system.h"
#include "submix/corpus/user_tokens.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/opened_ensemble.h"
#include "submix/eval/attacks/exposure.h"
#include "submix/eval/measuring/perplexity_runs.h"
#include "submix/eval/measuring/repeatable_draws.h"
#include "submix/eval/measuring/text_comparison.h"
#include "submix/eval/measuring/token_scores.h"
#include "submix/model/decoder_config.h"
#include "submix/train/fine_tuning/member_recipe.h"
#include "submix/train/fine_tuning/training_recipe.h"
#include "submix/workbench/models/open_models.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;

struct WorthOptions {
  std::vector<std::string> synthetic;
  std::string ensemble;
  corpus::CorpusFile corpus;
  std::string heldout;
  std::string models;
  std::string codes;
  workbench::ModelOptions predictor;
  bool json = false;
};

// --- Texts

// One that a model is fine-tuned on, as documents' tokens.
struct TrainingText {
  std::string name;
  eval::TextSample tokens;
};

// The real text is the first.
struct Texts {
  std::vector<TrainingText> training;
  eval::HeldoutBlocks heldout;
};

TrainingText AsDocuments(const std::string& name, const std::vector<corpus::UserTokens>& users,
                         const tokenizer::Tokenizer& tokenizer) {
  TrainingText text{name, {}};
  for (corpus::UserTokens& document : corpus::CutIntoTexts(users, tokenizer)) {
    text.tokens.documents.push_back(std::move(document.tokens));
  }
  return text;
}

StatusOr<TrainingText> LoadSynthetic(const std::string& path,
                                     const tokenizer::Tokenizer& tokenizer) {
  corpus::CorpusFile file(path);
  file.user_column = "id";
  // Nobody is held out, whatever the key.
  SUBMIX_ASSIGN_OR_RETURN(const auto documents,
                          corpus::PartitionCorpus(file, tokenizer, {}, {.num_parts = 1}));
  return AsDocuments(path, documents.members.front(), tokenizer);
}

// The corpus, divided as the ensemble was; with --heldout all of it counts as read.
StatusOr<Texts> LoadReal(const WorthOptions& options, const ensemble::Manifest& manifest,
                         const tokenizer::Tokenizer& tokenizer, int context_length) {
  SUBMIX_ASSIGN_OR_RETURN(const auto key,
                          corpus::LoadPartitionKey(ensemble::PartitionKeyPath(options.ensemble)));
  const bool has_heldout = !options.heldout.empty();
  SUBMIX_ASSIGN_OR_RETURN(
      auto corpus,
      corpus::PartitionCorpus(
          options.corpus, tokenizer, key,
          {.num_parts = 1, .heldout_fraction = has_heldout ? 0 : manifest.heldout_fraction}));
  train::RemoveForgotten(manifest, key, corpus);
  if (corpus.members.front().empty()) {
    return base::FailedPreconditionError(options.corpus.path + ": no user of it was read by " +
                                         options.ensemble);
  }
  Texts texts;
  texts.training.push_back(AsDocuments("text that was read", corpus.members.front(), tokenizer));
  texts.heldout = eval::HeldoutFromUsers(corpus.heldout, context_length).blocks;
  if (has_heldout) {
    corpus::CorpusFile file = options.corpus;
    file.path = options.heldout;
    SUBMIX_ASSIGN_OR_RETURN(auto heldout, eval::HeldoutFromFile(file, tokenizer, context_length));
    texts.heldout = std::move(heldout.blocks);
  }
  if (!texts.heldout.empty()) return texts;
  return base::FailedPreconditionError(
      options.ensemble +
      ": no user of the corpus was held out from it; give other text of the same kind by "
      "--heldout");
}

// As many tokens of each: those of the smallest.
std::int64_t MakeEqual(std::vector<TrainingText>& texts) {
  std::int64_t tokens = std::numeric_limits<std::int64_t>::max();
  for (const TrainingText& text : texts) tokens = std::min(tokens, text.tokens.words());
  for (TrainingText& text : texts) text.tokens = eval::ThinnedTo(text.tokens, tokens);
  return tokens;
}

// --- Models

// As one stream, so that every text makes as many blocks, however long its documents are.
corpus::UserTokens AsStream(const eval::TextSample& text) {
  corpus::UserTokens stream;
  for (const auto& document : text.documents) {
    // Without a prefix the end of one document is the beginning of the next.
    const bool shares = !stream.tokens.empty() && stream.tokens.back() == document.front();
    stream.tokens.insert(stream.tokens.end(), document.begin() + (shares ? 1 : 0), document.end());
  }
  return stream;
}

// One for each text, by one recipe and each in a directory that is named after all that it is made
// of: what an earlier command left there is that model, whole or begun.
StatusOr<std::vector<train::MemberTask>> Plan(const std::vector<TrainingText>& texts,
                                              const std::string& public_directory,
                                              const std::string& models,
                                              const train::FineTuneOptions& recipe) {
  ensemble::Manifest hyper_parameters;
  hyper_parameters.hyper_parameters = train::HyperParameters(recipe);
  SUBMIX_ASSIGN_OR_RETURN(const auto public_sha256, train::PublicModelSha256(public_directory));
  std::vector<train::MemberTask> tasks;
  for (const TrainingText& text : texts) {
    train::MemberTask& task = tasks.emplace_back(
        train::MakeMemberTask("", tasks.size(), {AsStream(text.tokens)}, recipe));
    task.output_directory =
        base::JoinPath(models, train::RecipeDigest(task, hyper_parameters, public_sha256));
  }
  return tasks;
}

// The public model and, in the order of the texts, those that were fine-tuned on them.
StatusOr<std::unique_ptr<ensemble::Predictor>> FineTune(const WorthOptions& options,
                                                        const model::DecoderConfig& config,
                                                        const std::vector<TrainingText>& texts,
                                                        std::int64_t tokens, int vocab_size) {
  const std::string public_directory = ensemble::PublicDirectory(options.ensemble);
  train::FineTuneOptions recipe = train::RecommendedRecipe(
      config, {.num_parts = static_cast<int>(texts.size()), .tokens_a_part = tokens});
  recipe.precision = DefaultTrainingPrecision();
  recipe.threads = options.predictor.threads;
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(options.models));
  SUBMIX_RETURN_IF_ERROR(base::MakePrivate(options.models));
  SUBMIX_ASSIGN_OR_RETURN(const auto lock, ensemble::LockEnsemble(options.models));
  SUBMIX_ASSIGN_OR_RETURN(const auto tasks, Plan(texts, public_directory, options.models, recipe));
  SUBMIX_RETURN_IF_ERROR(
      train::FineTuneMembers(public_directory, tasks, recipe, base::DetectProgressStyle()));
  std::vector<std::string> directories;
  for (const train::MemberTask& task : tasks) directories.push_back(task.output_directory);
  return workbench::LoadPredictor(options.predictor, public_directory, directories, vocab_size);
}

// --- The command

// [models], the mean over the codes of their exposure by each model's likelihoods, in bits.
StatusOr<std::vector<double>> MeanExposures(const std::vector<eval::PlantedCode>& codes,
                                            const tokenizer::Tokenizer& tokenizer,
                                            ensemble::Predictor& predictor) {
  const eval::ExposureOptions options;
  SUBMIX_ASSIGN_OR_RETURN(const std::int64_t scored, eval::CodesToScore(codes, options));
  std::vector<std::unique_ptr<eval::TokenLaw>> laws;
  std::vector<eval::TokenLaw*> asked;
  for (int row = 0; row <= predictor.num_members(); ++row) {
    asked.push_back(laws.emplace_back(eval::MakeRowLaw(static_cast<std::size_t>(row))).get());
  }
  std::vector<double> means(laws.size());
  base::ProgressBar progress("Ranking", scored, "codes");
  for (std::size_t c = 0; c < codes.size(); ++c) {
    const auto random = eval::RepeatableDraws(/*seed=*/0, "exposure", c);
    SUBMIX_ASSIGN_OR_RETURN(const auto exposures,
                            eval::MeasureExposure(predictor, asked, tokenizer, codes[c], options,
                                                  *random, [&] { progress.Advance(1); }));
    for (std::size_t row = 0; row < means.size(); ++row) {
      means[row] += exposures[row].by_rank / static_cast<double>(codes.size());
    }
  }
  progress.Finish();
  return means;
}

// Row 0 of the scores and exposures is the public model's, row 1 that of the real text.
AccountReport Report(const Texts& texts, std::int64_t tokens,
                     const std::vector<eval::TokenScores>& scores,
                     const std::vector<double>& exposures) {
  AccountReport report;
  report.title =
      "Operator's view, outside the budget: publishing these numbers, or choosing text by them, is "
      "a release of its own.";
  report.notes = {
      "The public model is fine-tuned on " + std::to_string(tokens) +
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
  for (std::size_t i = 1; i < texts.training.size(); ++i) {
    add(texts.training[i].name, tokens, i + 1);
  }
  add(texts.training.front().name, tokens, 1);
  add("none (public model)", 0, 0);
  return report;
}

Status RunWorth(const WorthOptions& options) {
  SayGoesOnAtInterrupt();
  SUBMIX_ASSIGN_OR_RETURN(const auto ensemble, ensemble::OpenedEnsemble::Open(options.ensemble));
  const ensemble::Manifest& manifest = ensemble.manifest();
  if (manifest.external.has_value()) return ensemble.CheckHasModels();
  std::vector<eval::PlantedCode> codes;
  if (!options.codes.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(codes, eval::ReadPlantedCodes(options.codes));
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer, workbench::LoadTokenizer(ensemble));
  SUBMIX_ASSIGN_OR_RETURN(const auto config, model::LoadConfigOf(ensemble.public_directory()));
  SUBMIX_ASSIGN_OR_RETURN(Texts texts,
                          LoadReal(options, manifest, *tokenizer, config.context_length));
  for (const std::string& path : options.synthetic) {
    SUBMIX_ASSIGN_OR_RETURN(auto text, LoadSynthetic(path, *tokenizer));
    texts.training.push_back(std::move(text));
  }
  const std::int64_t tokens = MakeEqual(texts.training);
  SUBMIX_ASSIGN_OR_RETURN(const auto predictor, FineTune(options, config, texts.training, tokens,
                                                         tokenizer->vocab_size()));
  base::ProgressBar progress("Scoring", eval::CountQueries(texts.heldout), "tokens");
  SUBMIX_ASSIGN_OR_RETURN(const auto scores,
                          eval::ScoreTokens(*predictor, texts.heldout, progress));
  progress.Finish();
  std::vector<double> exposures;
  if (!codes.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(exposures, MeanExposures(codes, *tokenizer, *predictor));
  }
  PrintReport(Report(texts, tokens, scores, exposures), options.json);
  return base::OkStatus();
}

}  // namespace

void AddWorthCommand(CLI::App& command, Action& action) {
  WorthOptions& options = SetAction<WorthOptions>(command, action, RunWorth);
  Flags flags(command);
  flags.Require("synthetic", options.synthetic, kFile, "Files made by `submix synthesize`");
  RequireCorpus(flags, "--corpus", "The corpus that the models read", options.corpus);
  flags.Require("--ensemble", options.ensemble, kDirectory,
                "Directory made by `submix train` or `submix contexts`: its public model is "
                "fine-tuned, and it says whose text was held out");
  flags.Add("--heldout", options.heldout, kFile,
            "Score other real text, .jsonl or .csv (every user) or plain; all of the corpus then "
            "counts as read");
  flags.Require("--models", options.models,
                "Directory for the fine-tuned models, to make or to go on with; as private as the "
                "corpus");
  flags.Add("--codes", options.codes, kFile,
            "Secrets that were planted in the corpus, {\"prompt\": …, \"secret\": …} a line: their "
            "exposure by each model");
  AddModelFlags(command, options.predictor);
  flags.Add("--json", options.json, "One JSON object");
  command.footer(
      "As many tokens of every text are read, those of the smallest, by the recipe that\n"
      "`submix train` recommends for so many; the real text is a sample of users who were read.\n"
      "Interrupted? Run the same command again: finished models are kept, the last one goes on.\n"
      "Example: submix worth reviews.jsonl --corpus text.jsonl --ensemble my_ensemble --models "
      "worth");
}

}  // namespace submix::apps
