// `submix train`: an ensemble from user-keyed text, or one model trained with differential privacy.
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/accounting/promise.h"
#include "submix/apps/interrupt.h"
#include "submix/apps/measuring/corpus_flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/report.h"
#include "submix/apps/shell_word.h"
#include "submix/apps/training/fine_tune_flags.h"
#include "submix/apps/training/process_ranks.h"
#include "submix/base/number_text.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/mechanism/quantise.h"
#include "submix/model/decoder_config.h"
#include "submix/train/fine_tuning/ensemble_training.h"
#include "submix/train/private_training/private_training.h"
#include "submix/train/recipes/training_recipe.h"
#include "submix/workbench/ensembles/loss_notes.h"

namespace submix::apps {
namespace {

using accounting::PrivacyUnit;
using base::NumberText;
using base::Status;
using train::PrivateTrainingReport;

// --- One model, trained with differential privacy

struct PrivateTrainingFlags {
  std::string mechanism;  // empty: no private training
  std::string unit = "user";
  train::PrivateTrainingOptions options;
};

// Adds them to `submix train`, which has its other options.
void AddPrivateTrainingFlags(CLI::App& command, PrivateTrainingFlags& training) {
  Flags flags(command);
  train::PrivateTrainingOptions& options = training.options;
  options.training.expected_batch = 0;  // nobody said
  constexpr const char* kPrivateGroup =
      "Private training (one model, differentially private itself)";
  CLI::Option* const mechanism = flags.Add(
      "--private", training.mechanism, OneOf({"dp-sgd"}),
      "dp-sgd: clipped gradients of users, with noise; the model may then be asked without limit");
  for (const char* other : {"--parts", "--halves", "--members-at-a-time"}) {
    mechanism->excludes(command.get_option(other));
  }
  const auto add = [&](CLI::Option* option) { option->needs(mechanism)->group(kPrivateGroup); };
  mechanism->group(kPrivateGroup);
  add(flags.Add("--epsilon", options.target.epsilon, kPositive,
                "Target at --delta; training stops before the step that would exceed it"));
  add(flags.Add("--delta", options.target.delta, kDelta, "Well below 1 / users"));
  add(flags.Add("--unit", training.unit, OneOf({"user", "document"}),
                "Whose presence is protected: a user with all texts, or one document"));
  add(flags
          .Add("--expected-batch", options.training.expected_batch, kPositive,
               "Users (documents) a step, on average; default: an eighth of them. Large batches, "
               "in the hundreds or thousands, learn more at the same epsilon")
          ->default_str("an eighth"));
  add(flags.Add("--noise-multiplier", options.noise_multiplier, kPositive,
                "Noise, in units of the clipping norm; without it the least with which all steps "
                "stay within --epsilon"));
  add(flags.Add("--clip", options.training.clip_norm, kPositive,
                "Longest gradient of a user, in L2"));
  add(flags.Add("--steps", options.training.steps, kPositive,
                "Updates, instead of --epochs / share of a batch"));
  add(flags.Add("--public-users", options.public_units, kPositive,
                "A public number of users (documents) that --expected-batch is a share of; without "
                "it their count, which then counts as public"));
}

// `training.fine_tune` says model, rate and blocks; one part, one member.
train::PrivateTrainingOptions PrivateTrainingOptionsOf(
    const PrivateTrainingFlags& flags, const train::EnsembleTrainingOptions& training) {
  const train::FineTuneOptions& fine_tune = training.fine_tune;
  train::PrivateTrainingOptions options = flags.options;
  options.public_directory = training.public_directory;
  options.corpus = training.corpus;
  options.ensemble_directory = training.ensemble_directory;
  options.partition_key_path = training.partition_key_path;
  options.heldout_fraction = training.partition.heldout_fraction;
  options.tokens_per_user = training.tokens_per_user;
  options.loss = training.loss;
  options.unit = flags.unit == "user" ? PrivacyUnit::kUserKey : PrivacyUnit::kTrainingExample;
  options.epochs = fine_tune.epochs;
  options.training.blocks_at_a_time = fine_tune.batch_size;
  static_cast<train::TrainingOptions&>(options.training) = fine_tune;
  return options;
}

volatile std::sig_atomic_t interrupted = 0;

// The second interrupt ends the program at once.
void NoteInterrupt(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
}

// What the statement's number rests on.
std::vector<std::string> Assumptions(const train::PrivateTrainingOptions& options,
                                     const PrivateTrainingReport& report) {
  const std::string unit = options.unit == PrivacyUnit::kUserKey ? "user" : "document";
  std::vector<std::string> lines = {
      "sampling: each " + unit + " was in each step's batch with probability " +
          NumberText(report.sampling_probability) + ", by an independent coin",
      "every " + unit + "'s gradient clipped to norm " + NumberText(options.training.clip_norm) +
          ", noise of " + NumberText(report.noise_multiplier) +
          " times that on the sum, divided by " + NumberText(report.expected_batch)};
  if (report.units_were_counted) {
    lines.push_back(
        "the number of " + unit + "s, " + std::to_string(report.public_units) +
        ", counts as public; --public-users declares one that does not depend on the data");
  }
  const std::string caution =
      accounting::DeltaCaution(options.target.delta, static_cast<double>(report.public_units));
  if (!caution.empty()) lines.push_back(caution);
  return lines;
}

void PrintJson(const train::PrivateTrainingOptions& options, const PrivateTrainingReport& report) {
  const accounting::Promise promise = PromiseOf(report.statement);
  const nlohmann::ordered_json object = {
      {"ensemble", options.ensemble_directory},
      {"released", options.ensemble_directory + "/released"},
      {"mechanism", report.statement.mechanism},
      {"unit", options.unit == PrivacyUnit::kUserKey ? "user" : "document"},
      {"adjacency", "present or absent"},
      {"epsilon", report.epsilon},
      {"delta", options.target.delta},
      {"target_epsilon", options.target.epsilon},
      {"binding_order", OrderJson(report.statement.order)},
      {"sampling_probability", report.sampling_probability},
      {"noise_multiplier", report.noise_multiplier},
      {"clip_norm", options.training.clip_norm},
      {"expected_batch", report.expected_batch},
      {"public_units", report.public_units},
      {"steps_wanted", report.steps_wanted},
      {"steps", report.steps},
      {"steps_charged", report.steps_charged},
      {"promise", accounting::PromiseJson<nlohmann::ordered_json>(promise)},
      {"statement", promise.Lines()},
      {"assumptions", Assumptions(options, report)}};
  std::printf("%s\n", object.dump().c_str());
}

void PrintText(const train::PrivateTrainingOptions& options, const PrivateTrainingReport& report) {
  const std::string& directory = options.ensemble_directory;
  std::printf("%s holds a model of %lld private steps", directory.c_str(),
              static_cast<long long>(report.steps));
  if (report.steps < report.steps_wanted) {
    std::printf(" of %lld: the budget ended", static_cast<long long>(report.steps_wanted));
  }
  if (report.steps_charged > report.steps) {
    std::printf("; %lld more were paid for and lost to interruptions",
                static_cast<long long>(report.steps_charged - report.steps));
  }
  std::printf("\n\n%s\n", PromiseOf(report.statement).ToText().c_str());
  for (const std::string& assumption : Assumptions(options, report)) {
    std::printf("%s", Paragraph(assumption).c_str());
  }
  const std::string word = ShellWord(directory);
  std::printf("\n%s", Paragraph(directory +
                                "/released may be asked without limit and given away: its public/ "
                                "is the private model, also for --public of an ensemble above it.")
                          .c_str());
  std::printf(
      "  Compare: submix evaluate ENSEMBLE --fine-tuned %s\n"
      "  Serve: submix deploy %s/released DEPLOYMENT --mechanism public%s\n",
      word.c_str(), word.c_str(), DeltaFlag(options.target.delta).c_str());
}

// Trains and prints the statement. An interrupt (Ctrl-C) ends it after the step at hand, with a
// checkpoint.
Status RunPrivateTraining(train::PrivateTrainingOptions options, bool json) {
  options.training.should_stop = [] { return interrupted != 0; };
  std::signal(SIGINT, NoteInterrupt);
  std::signal(SIGTERM, NoteInterrupt);
  const auto random = base::MakeSystemRandomSource();
  SUBMIX_ASSIGN_OR_RETURN(const PrivateTrainingReport report,
                          train::TrainPrivately(options, *random, base::DetectProgressStyle()));
  if (json) {
    PrintJson(options, report);
  } else {
    PrintText(options, report);
  }
  return base::OkStatus();
}

// --- The command

struct TrainOptions {
  train::EnsembleTrainingOptions training;
  FineTuneFlags fine_tune;
  PrivateTrainingFlags private_training;
  std::string loss = "answers";
  std::string public_trained_on = "same-users";
  std::string recipe = "recommended";
  std::int64_t tokens_a_part = 0;
  std::vector<std::string> after;  // deployments
  bool json = false;

  bool is_private() const { return !private_training.mechanism.empty(); }
};

// What the flags do not say.
train::FineTuneOptions RecipeOf(const TrainOptions& options, const model::DecoderConfig& config) {
  const bool all_weights = options.fine_tune.adapter.full;
  if (options.recipe == "paper") {
    train::FineTuneOptions paper = train::PaperRecipe(config, all_weights);
    // A noisy gradient needs no warm-up; 1, the paper's, would halve the mean rate.
    if (options.is_private()) paper.learning_rate.warmup_fraction = 0;
    return paper;
  }
  if (options.is_private()) return train::RecommendedPrivateRecipe(config, all_weights);
  return train::RecommendedRecipe(config, {.num_parts = options.training.partition.num_parts,
                                           .tokens_a_part = options.tokens_a_part,
                                           .all_weights = all_weights});
}

void PrintEnsembleJson(const train::EnsembleTrainingOptions& training,
                       const ensemble::Manifest& manifest) {
  const nlohmann::ordered_json object = {{"ensemble", training.ensemble_directory},
                                         {"parts", manifest.num_parts},
                                         {"members_a_part", manifest.halves},
                                         {"private", false},
                                         {"users", manifest.users.value_or(0)},
                                         {"notes", workbench::MembersWithoutText(manifest)}};
  std::printf("%s\n", object.dump().c_str());
}

void PrintWhatNow(const train::EnsembleTrainingOptions& training) {
  const std::string& directory = training.ensemble_directory;
  const auto print = [](const std::string& text) { std::printf("%s", Paragraph(text).c_str()); };
  if (training.partition.num_parts == 1) {
    print(directory +
          " holds one model of all text: NOT private, nobody else may ask it. It is "
          "what others are compared with:");
    std::printf("  submix evaluate ENSEMBLE --fine-tuned %s\n", ShellWord(directory).c_str());
    return;
  }
  const std::string each =
      training.partition.halves == 1 ? ", one member each" : ", two members each";
  print(directory + " holds " + std::to_string(training.partition.num_parts) + " parts" + each +
        ". Next:");
  std::printf("  submix deploy %s DEPLOYMENT\n", ShellWord(directory).c_str());
}

Status SayNotes(const TrainOptions& options, std::FILE* out) {
  const train::EnsembleTrainingOptions& training = options.training;
  SUBMIX_ASSIGN_OR_RETURN(const std::string losses,
                          workbench::WhatAddsUp({training.corpus, training.ensemble_directory,
                                                 training.public_directory},
                                                options.after));
  if (!losses.empty()) std::fprintf(out, "%s", Paragraph(losses).c_str());
  SUBMIX_ASSIGN_OR_RETURN(const auto notes,
                          workbench::WhatStandsOut(training.corpus, training.partition.num_parts,
                                                   training.tokens_per_user == 0));
  for (const std::string& note : notes) std::fprintf(out, "%s", Paragraph(note).c_str());
  return base::OkStatus();
}

Status RunTrain(TrainOptions& options) {
  train::EnsembleTrainingOptions& training = options.training;
  SUBMIX_ASSIGN_OR_RETURN(train::Ranks* const ranks, JoinRanks());
  SUBMIX_ASSIGN_OR_RETURN(const auto config, model::LoadConfigOf(training.public_directory));
  SUBMIX_ASSIGN_OR_RETURN(
      training.fine_tune,
      FineTuneOptionsOf(options.fine_tune, RecipeOf(options, config), config.layers));
  if (ranks != nullptr && !ranks->is_root()) {
    return ServeMembers(*ranks, training.fine_tune);
  }
  SayGoesOnAtInterrupt();
  training.loss = LossOf(options.loss);
  // One model of all text is never deployed.
  if (training.partition.num_parts > 1 || options.is_private()) {
    std::FILE* const out = options.json ? stderr : stdout;
    SUBMIX_RETURN_IF_ERROR(SayNotes(options, out));
  }
  if (!options.json) {
    const std::int64_t steps = options.private_training.options.training.steps;
    std::printf("%s",
                Paragraph("Recipe: " + (options.is_private()
                                            ? train::PrivateRecipeText(training.fine_tune, steps)
                                            : train::RecipeText(training.fine_tune)))
                    .c_str());
  }
  if (options.is_private()) {
    if (ranks != nullptr) {
      return base::UnimplementedError("--private trains in one process; start it without mpirun");
    }
    return RunPrivateTraining(PrivateTrainingOptionsOf(options.private_training, training),
                              options.json);
  }
  training.public_trained_on_others = options.public_trained_on == "other-users";
  SUBMIX_RETURN_IF_ERROR(train::TrainEnsemble(training, base::DetectProgressStyle(), ranks));
  SUBMIX_ASSIGN_OR_RETURN(const auto manifest, ensemble::LoadManifest(training.ensemble_directory));
  if (options.json) {
    PrintEnsembleJson(training, manifest);
    return base::OkStatus();
  }
  PrintWhatNow(training);
  const std::string without_text = workbench::MembersWithoutText(manifest);
  if (!without_text.empty()) std::printf("%s", Paragraph(without_text).c_str());
  return base::OkStatus();
}

}  // namespace

void AddTrainCommand(CLI::App& command, Action& action) {
  TrainOptions& options = SetAction<TrainOptions>(command, action, RunTrain);
  train::EnsembleTrainingOptions& training = options.training;
  Flags flags(command);
  training.partition.num_parts = 16;
  training.partition.heldout_fraction = 0.1;
  RequireCorpus(flags, "corpus", "Private text", training.corpus);
  flags.Require("ensemble", training.ensemble_directory, "Directory to make, or to go on with");
  flags.Require(
      "--public", training.public_directory, kDirectory,
      "Public model: a directory in Hugging Face's layout (docs/models.md has the families)");
  flags.Add("--parts", training.partition.num_parts, Between(1, mechanism::kMaxParts),
            "Disjoint sets of users; more parts cost less privacy each, and know less");
  flags.Add("--halves", training.partition.halves, Between(1, 2),
            "Members a part: 2 makes the pairs that `submix` needs");
  flags.Add("--heldout-fraction", training.partition.heldout_fraction, Between(0.0, 0.9),
            "Share of the users kept for evaluation, never trained on");
  flags
      .Add("--tokens-per-user", training.tokens_per_user, kCount,
           "Read the first so many tokens of each user alone, a public number, so that one with "
           "most "
           "of the text does not fill a part")
      ->default_str("all");
  AddLossFlag(flags, options.loss, options.loss, "learns");
  flags.Add("--public-trained-on", options.public_trained_on, OneOf({"same-users", "other-users"}),
            "Where --public is a model trained privately: other-users if no user of this corpus "
            "was among its users; with same-users, the default, statements add both losses");
  flags.Add("--partition-key", training.partition_key_path, kFile,
            "32-byte key file of another ensemble, to partition alike; default: a new secret");
  flags.Add("--reuse", training.reuse_directory, kDirectory,
            "Another ensemble, whose members are copied where they would be the same: of the same "
            "text, options and public model");
  flags.Add(
      "--after", options.after,
      "Deployments, with commas between: says whether their ensembles have read users of this "
      "corpus, as it does of the ensembles beside this one");
  flags.Add("--recipe", options.recipe, OneOf({"recommended", "paper"}),
            "Of what no other option says. recommended: by the public model's size, --parts and "
            "--tokens-a-part; paper: the SubMix paper's, rank 8 on c_attn and a rate that rises to "
            "1e-4 until the end. Printed before training");
  flags
      .Add("--tokens-a-part", options.tokens_a_part, kPositive,
           "About how many tokens a part has, a public number for the recipe: from 20,000 on a "
           "part is read three times, from 1,000,000 on once in larger batches. Do not count "
           "private text for it")
      ->default_str("few");
  flags.Add("--json", options.json, "One JSON object instead of text, for you alone");
  AddFineTuneFlags(command, options.fine_tune, "by --recipe");
  AddPrivateTrainingFlags(command, options.private_training);
  command.footer(
      "Interrupted? Run the same command again: finished members are kept, the last one goes on.\n"
      "mpirun -n R submix train … spreads the members over R processes:\n"
      "docs/private_training.md.\n"
      "--parts 1 trains the non-private baseline for `submix evaluate --fine-tuned`.\n"
      "Example: submix train text.jsonl my_ensemble --public gpt2 --parts 32\n"
      "--private dp-sgd trains one model that is (epsilon, delta)-private for each user and\n"
      "answers without limit; every step is paid for in ENSEMBLE/training before its noise is\n"
      "drawn. --batch-size is then how many of a user's blocks go through the model together.\n"
      "Example: submix train text.jsonl my_model --public gpt2 --private dp-sgd --epsilon 8");
}

}  // namespace submix::apps
