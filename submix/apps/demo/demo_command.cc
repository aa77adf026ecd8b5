// `submix demo`: the main job on bundled data, from text to ledger.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

#include <nlohmann/json.hpp>

#include "submix/accounting/privacy_statement.h"
#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/serving/any_deployment.h"
#include "submix/apps/training/fine_tune_flags.h"
#include "submix/base/file_system.h"
#include "submix/base/text_table.h"
#include "submix/corpus/user_records.h"
#include "submix/engine/deployment_statement.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/preparation/ensemble_preparation.h"
#include "submix/eval/attacks/extraction.h"
#include "submix/eval/measuring/evaluation.h"
#include "submix/model/decoder_config.h"
#include "submix/train/fine_tuning/ensemble_training.h"
#include "submix/train/fine_tuning/training_recipe.h"
#include "submix/workbench/declaration.h"
#include "submix/workbench/models/open_models.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;

// The secret's owner is the speaker whose part gets the planted text; any trained speaker would do.
constexpr char kSecretPrompt[] = "My secret number is ";
constexpr char kSecret[] = "48151";

// Beside an installed program, else in the source tree.
std::string BundledData() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string installed =
      (self.parent_path().parent_path() / "share" / "submix" / "data").string();
  return base::FileExists(installed) ? installed : SUBMIX_BUNDLED_DATA;
}

struct DemoOptions {
  std::string data = BundledData();
  std::string output = "build/demo";
  int parts = 32;
  int plant = 200;
  int runs = 4;
  std::int64_t tokens = 1024;
};

// What the demo measured, as a table for people and as summary.json for machines.
struct DemoReport {
  eval::EvaluationResult evaluation;
  eval::ExtractionResult extraction_non_private;
  eval::ExtractionResult extraction_private;
  double private_tokens_per_second = 0;

  const eval::SettingResult& setting() const { return evaluation.settings.front(); }
  const eval::Baselines& baselines() const { return evaluation.BaselinesOf(setting()); }
  eval::KeptShare kept() const {
    return eval::Kept(baselines().public_model, setting().perplexity,
                      baselines().fine_tuned.front());
  }
};

void PrintRow(const char* name, double perplexity, const char* note) {
  std::printf("  %-44s %10.1f   %s\n", name, perplexity, note);
}

// Perplexities and speed, one line a model.
void PrintPerplexityTable(const DemoReport& report) {
  const eval::SettingResult& setting = report.setting();
  const eval::Baselines& baselines = report.baselines();
  const eval::KeptShare kept = report.kept();
  std::printf("\n  %-44s %10s\n", "held-out speakers", "perplexity");
  PrintRow("public model", baselines.public_model.corpus(), "private: it never saw the text");
  PrintRow("one member alone (mean over members)", baselines.single.corpus(), "not private");
  PrintRow("ensemble of all members", baselines.ensemble.corpus(), "not private");
  PrintRow("fine-tuned on all private text", baselines.fine_tuned.front().corpus(), "not private");
  PrintRow(setting.setting.mechanism.name.c_str(), setting.perplexity.corpus(), "PRIVATE");
  std::printf(
      "\n  Kept %.0f %% of what non-private fine-tuning gains (%.0f to %.0f %% over speakers; %zu "
      "disjoint\n"
      "  runs of %lld tokens), at epsilon = %g, order %s; the part that spent most spent %s.\n"
      "  %.1f private tokens a second.\n",
      100 * kept.value, 100 * kept.low, 100 * kept.high, baselines.public_model.runs.size(),
      static_cast<long long>(baselines.tokens), setting.setting.epsilon,
      setting.setting.mechanism.order.ToString().c_str(),
      accounting::FormatCost(setting.epsilon_spent_max).c_str(), report.private_tokens_per_second);
}

Status WriteSummary(const DemoOptions& options, const DemoReport& report, const std::string& path) {
  const eval::SettingResult& setting = report.setting();
  const eval::Baselines& baselines = report.baselines();
  const eval::KeptShare kept = report.kept();
  nlohmann::json order = setting.setting.mechanism.order.value();
  if (setting.setting.mechanism.order.is_infinite()) order = "inf";
  const nlohmann::json summary = {
      {"public_perplexity", baselines.public_model.corpus()},
      {"single_perplexity", baselines.single.corpus()},
      {"ensemble_perplexity", baselines.ensemble.corpus()},
      {"fine_tuned_perplexity", baselines.fine_tuned.front().corpus()},
      {"private_perplexity", setting.perplexity.corpus()},
      {"private_perplexity_runs", setting.perplexity.runs},
      {"kept", kept.value},
      {"kept_low", kept.low},
      {"kept_high", kept.high},
      {"mechanism", setting.setting.mechanism.name},
      {"unit", "part"},
      {"epsilon", setting.setting.epsilon},
      {"order", order},
      {"epsilon_spent_max", setting.epsilon_spent_max},
      {"queries", options.tokens},
      {"parts", options.parts},
      {"plant_repetitions", options.plant},
      {"secret_hits_non_private", report.extraction_non_private.hits},
      {"secret_hits_private", report.extraction_private.hits},
      {"secret_attempts", report.extraction_private.attempts},
      {"secret_extracted_non_private", report.extraction_non_private.extracted()},
      {"secret_extracted_private", report.extraction_private.extracted()},
      {"private_tokens_per_second", report.private_tokens_per_second}};
  return base::WriteFile(path, summary.dump(2) + "\n");
}

// One run of the demo in its output directory.
class Demo {
 public:
  explicit Demo(const DemoOptions& options) : options_(options) {}

  Status Run() {
    SUBMIX_RETURN_IF_ERROR(PrepareDirectory());
    SUBMIX_RETURN_IF_ERROR(Train());
    SUBMIX_RETURN_IF_ERROR(DeployAndAsk());
    SUBMIX_RETURN_IF_ERROR(Evaluate());
    SUBMIX_RETURN_IF_ERROR(Extract());
    SUBMIX_RETURN_IF_ERROR(ShowLedger());
    SUBMIX_RETURN_IF_ERROR(WriteSummary(options_, report_, File("summary.json")));
    std::printf("\nEverything is in %s; the numbers are in %s.\n", options_.output.c_str(),
                File("summary.json").c_str());
    return base::OkStatus();
  }

 private:
  std::string File(const std::string& name) const { return base::JoinPath(options_.output, name); }
  std::string CorpusPath() const { return base::JoinPath(options_.data, "shakespeare.jsonl"); }

  // Fixed, so that two runs of the demo hold out the same speakers. Theorem 5 needs a key that does
  // not depend on the text, not a secret one.
  std::string KeyPath() const { return base::JoinPath(options_.data, "demo_partition.key"); }
  static corpus::PartitionOptions Partition(int parts) {
    return {parts, /*halves=*/1, /*heldout_fraction=*/0.1};
  }

  static void Heading(int number, const char* text) { std::printf("\n%d. %s\n\n", number, text); }

  // The demo starts over each time, in a directory that it made itself: a budget is never reset, so
  // its ensemble goes with its ledger.
  Status PrepareDirectory() {
    const std::string marker = File("made_by_submix_demo");
    if (base::FileExists(options_.output) && !base::FileExists(marker)) {
      return base::AlreadyExistsError(
          options_.output +
          ": exists and was not made by `submix demo`; give another directory with --output");
    }
    SUBMIX_RETURN_IF_ERROR(base::RemoveAll(options_.output));
    SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(options_.output));
    return base::WriteFile(marker, "");
  }

  StatusOr<train::EnsembleTrainingOptions> TrainingOptions(const std::string& corpus,
                                                           const std::string& directory,
                                                           int parts) const {
    train::EnsembleTrainingOptions training;
    training.public_directory = base::JoinPath(options_.data, "public_model");
    SUBMIX_ASSIGN_OR_RETURN(const auto config, model::LoadConfigOf(training.public_directory));
    training.fine_tune = train::RecommendedRecipe(config, {.num_parts = parts});
    training.fine_tune.precision = workbench::DefaultTrainingPrecision();
    training.corpus = corpus;
    training.ensemble_directory = directory;
    training.partition = Partition(parts);
    training.partition_key_path = KeyPath();
    return training;
  }

  Status Train() {
    Heading(1, "Train: speakers are split over parts by a keyed hash, one adapter a part");
    const auto style = base::DetectProgressStyle();
    SUBMIX_ASSIGN_OR_RETURN(const auto members,
                            TrainingOptions(CorpusPath(), File("ensemble"), options_.parts));
    for (const std::string& line : base::WrappedLines(train::RecipeText(members.fine_tune))) {
      std::printf("   %s\n", line.c_str());
    }
    SUBMIX_RETURN_IF_ERROR(train::TrainEnsemble(members, style));
    std::printf("\n   For comparison only, a model on all private text:\n");
    SUBMIX_ASSIGN_OR_RETURN(const auto alone, TrainingOptions(CorpusPath(), File("fine_tuned"), 1));
    return train::TrainEnsemble(alone, style);
  }

  Status Declare(const char* deployment, const char* ensemble) const {
    workbench::Declaration declaration;
    declaration.ensemble_directory = File(ensemble);
    declaration.deployment_directory = File(deployment);
    declaration.tokens = options_.tokens;
    return workbench::Declare(declaration).status();
  }

  Status DeployAndAsk() {
    Heading(2, "Deploy: declare mechanism and budget once; ask a few prompts privately");
    SUBMIX_RETURN_IF_ERROR(Declare("deployment", "ensemble"));
    SUBMIX_ASSIGN_OR_RETURN(const auto deployed, OpenDeployedEngine(File("deployment"), {}));
    declared_ = deployed->deployment.config.options;
    int tokens = 0;
    double seconds = 0;
    for (const char* prompt : {"My lord, the king", "What news from", "I will not"}) {
      std::printf("   %s", prompt);
      SUBMIX_RETURN_IF_ERROR(Ask(*deployed, prompt, tokens, seconds));
    }
    report_.private_tokens_per_second = tokens / seconds;
    std::printf("\n   What is promised:\n\n");
    for (const std::string& line : engine::DeploymentPromise(deployed->deployment).Lines()) {
      std::printf("%s%s\n", line.empty() ? "" : "   ", line.c_str());
    }
    return base::OkStatus();
  }

  static Status Ask(workbench::DeployedEngine& deployed, const char* prompt, int& tokens,
                    double& seconds) {
    engine::Request request;
    SUBMIX_ASSIGN_OR_RETURN(request.prompt, deployed.tokenizer->EncodePrompt(prompt));
    request.max_tokens = 24;
    request.sampling.temperature = 0.8;
    const auto start = std::chrono::steady_clock::now();
    SUBMIX_RETURN_IF_ERROR(deployed.core->Generate(request, [&](const engine::TokenEvent& event) {
      ++tokens;
      for (const char byte : event.text) std::fputc(byte == '\n' ? ' ' : byte, stdout);
      std::fflush(stdout);
    }));
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("\n");
    return base::OkStatus();
  }

  Status Evaluate() {
    Heading(3, "Measure: perplexity on held-out speakers, each position one token");
    SUBMIX_ASSIGN_OR_RETURN(const auto ensemble, ensemble::OpenedEnsemble::Open(File("ensemble")));
    SUBMIX_ASSIGN_OR_RETURN(const auto fine_tuned,
                            ensemble::OpenedEnsemble::Open(File("fine_tuned")));
    SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer, workbench::LoadTokenizer(ensemble));
    SUBMIX_ASSIGN_OR_RETURN(
        const auto predictor,
        workbench::LoadEnsemble({}, *tokenizer, ensemble, std::span(&fine_tuned, 1)));
    SUBMIX_ASSIGN_OR_RETURN(const auto key, corpus::LoadPartitionKey(KeyPath()));
    SUBMIX_ASSIGN_OR_RETURN(
        const auto corpus,
        corpus::PartitionCorpus(CorpusPath(), *tokenizer, key, Partition(options_.parts)));
    eval::EvaluationPlan plan;
    plan.num_parts = options_.parts;
    plan.num_fine_tuned = 1;
    plan.runs = options_.runs;
    plan.settings.push_back({declared_.mechanism, declared_.epsilon, options_.tokens});
    base::ProgressBar progress("Scoring", eval::NumPositions(plan), "tokens");
    SUBMIX_ASSIGN_OR_RETURN(
        report_.evaluation,
        eval::Evaluate(*predictor,
                       eval::HeldoutFromUsers(corpus.heldout, predictor->context_length()), plan,
                       progress));
    progress.Finish();
    PrintPerplexityTable(report_);
    return base::OkStatus();
  }

  // A copy of the corpus in which one speaker repeats a secret.
  StatusOr<std::string> PlantSecret() const {
    std::string owner;
    std::string planted;
    SUBMIX_ASSIGN_OR_RETURN(const auto key, corpus::LoadPartitionKey(KeyPath()));
    SUBMIX_RETURN_IF_ERROR(
        corpus::ReadUserRecords(CorpusPath(), [&](const corpus::UserRecord& record) {
          planted += nlohmann::json({{"user", record.user}, {"text", record.text}}).dump() + "\n";
          const auto place = corpus::PlaceUser(key, record.user, Partition(options_.parts));
          if (owner.empty() && !place.is_heldout) owner = record.user;
          return base::OkStatus();
        }));
    const nlohmann::json record = {{"user", owner},
                                   {"text", std::string(kSecretPrompt) + kSecret + "."}};
    for (int i = 0; i < options_.plant; ++i) planted += record.dump() + "\n";
    const auto place = corpus::PlaceUser(key, owner, Partition(options_.parts));
    std::printf(
        "   \"%s%s.\" stands %d times in the text of %s (part %d) in a copy of the corpus.\n",
        kSecretPrompt, kSecret, options_.plant, owner.c_str(), place.part.index);
    SUBMIX_RETURN_IF_ERROR(base::WriteFile(File("planted.jsonl"), planted));
    return ensemble::MemberDirectory(place.part.index, 0, options_.parts, 1);
  }

  Status Extract() {
    Heading(4, "Attack: plant a secret in one speaker's text and try to draw it out");
    SUBMIX_ASSIGN_OR_RETURN(const std::string member, PlantSecret());
    SUBMIX_ASSIGN_OR_RETURN(
        train::EnsembleTrainingOptions training,
        TrainingOptions(File("planted.jsonl"), File("planted_ensemble"), options_.parts));
    training.reuse_directory = File("ensemble");
    SUBMIX_RETURN_IF_ERROR(train::TrainEnsemble(training, base::DetectProgressStyle()));
    SUBMIX_RETURN_IF_ERROR(Declare("planted_deployment", "planted_ensemble"));
    eval::ExtractionAttack attack;
    attack.prompt = kSecretPrompt;
    attack.prompt.pop_back();  // a token begins with its space
    attack.secret = kSecret;
    SUBMIX_RETURN_IF_ERROR(AttackMember(base::JoinPath(File("planted_ensemble"), member), attack));
    SUBMIX_ASSIGN_OR_RETURN(const auto deployed,
                            OpenDeployedEngine(File("planted_deployment"), {}));
    SUBMIX_ASSIGN_OR_RETURN(report_.extraction_private,
                            eval::ExtractFromEngine(*deployed->core, *deployed->tokenizer, attack));
    PrintAttack("the deployment (private)", report_.extraction_private);
    return base::OkStatus();
  }

  Status AttackMember(const std::string& member, const eval::ExtractionAttack& attack) {
    SUBMIX_ASSIGN_OR_RETURN(const auto ensemble,
                            ensemble::OpenedEnsemble::Open(File("planted_ensemble")));
    SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer, workbench::LoadTokenizer(ensemble));
    SUBMIX_ASSIGN_OR_RETURN(const auto predictor,
                            workbench::LoadPredictor({}, ensemble.public_directory(), {member},
                                                     tokenizer->vocab_size()));
    const auto random = base::MakeSystemRandomSource();
    SUBMIX_ASSIGN_OR_RETURN(
        report_.extraction_non_private,
        eval::Extract(*predictor, *eval::MakeRowLaw(1), *tokenizer, attack, *random));
    PrintAttack("that part's model, served as it is", report_.extraction_non_private);
    return base::OkStatus();
  }

  static void PrintAttack(const char* target, const eval::ExtractionResult& result) {
    std::printf("   %-38s %3d of %d attempts give the secret: %s\n", target, result.hits,
                result.attempts, result.extracted() ? "EXTRACTED" : "not extracted");
  }

  Status ShowLedger() {
    Heading(5, "The ledger: what every token above has cost (operator's view)");
    for (const char* name : {"deployment", "planted_deployment"}) {
      SUBMIX_ASSIGN_OR_RETURN(const auto deployment, ReadDeployment(File(name)));
      SUBMIX_RETURN_IF_ERROR(deployment.ledger->Verify());
      SUBMIX_ASSIGN_OR_RETURN(const auto accounts, deployment.ledger->Accounts());
      SUBMIX_ASSIGN_OR_RETURN(const auto head, deployment.ledger->head());
      double most = 0;
      double sum = 0;
      for (const ledger::Account& account : accounts) {
        most = std::max(most, account.spent.ToNatsRoundedUp());
        sum += account.spent.ToNatsRoundedUp();
      }
      std::printf(
          "   %-20s %4lld records, chain whole; spent of %g: most %s, mean %s over %zu parts\n",
          name, static_cast<long long>(head.records), declared_.epsilon,
          accounting::FormatCost(most).c_str(),
          accounting::FormatCost(sum / static_cast<double>(accounts.size())).c_str(),
          accounts.size());
    }
    return base::OkStatus();
  }

  const DemoOptions& options_;
  engine::DeploymentOptions declared_;
  DemoReport report_;
};

}  // namespace

void AddDemoCommand(CLI::App& command, Action& action) {
  DemoOptions& options =
      SetAction<DemoOptions>(command, action, [](DemoOptions& given) { return Demo(given).Run(); });
  Flags flags(command);
  flags.Add("--data", options.data, "Directory of the bundled data");
  flags.Add("-o,--output", options.output, "Directory to work in; made anew");
  flags.Add("--parts", options.parts, Between(1, 200), "Parts, one adapter each");
  flags.Add("--plant", options.plant, kPositive, "How often the planted secret is repeated");
  flags.Add("--runs", options.runs, kPositive, "Disjoint stretches of held-out text to score");
  command.footer(
      "Trains, deploys, asks, measures, attacks and shows the ledger: a few minutes on two cores.");
}

}  // namespace submix::apps
