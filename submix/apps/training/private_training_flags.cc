#include "submix/apps/training/private_training_flags.h"

#include <csignal>
#include <cstdio>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/accounting/promise.h"
#include "submix/apps/measuring/account_report.h"
#include "submix/apps/shell_word.h"
#include "submix/base/number_text.h"
#include "submix/base/text_table.h"

namespace submix::apps {
namespace {

using accounting::PrivacyUnit;
using base::NumberText;
using train::PrivateTrainingReport;

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
    for (const std::string& line : base::WrappedLines(assumption)) {
      std::printf("%s\n", line.c_str());
    }
  }
  const std::string word = ShellWord(directory);
  std::printf(
      "\n%s/released may be asked without limit and given away: its public/ is the private model, "
      "also for\n  --public of an ensemble above it. Compare: submix evaluate ENSEMBLE "
      "--fine-tuned %s\n  Serve: submix deploy %s/released DEPLOYMENT --mechanism public\n",
      directory.c_str(), word.c_str(), word.c_str());
}

}  // namespace

void AddPrivateTrainingFlags(CLI::App& command, PrivateTrainingFlags& training) {
  Flags flags(command);
  train::PrivateTrainingOptions& options = training.options;
  options.training.expected_batch = 0;  // nobody said
  constexpr const char* kGroup = "Private training (one model, differentially private itself)";
  CLI::Option* const mechanism = flags.Add(
      "--private", training.mechanism, OneOf({"dp-sgd"}),
      "dp-sgd: clipped gradients of users, with noise; the model may then be asked without limit");
  for (const char* other : {"--parts", "--halves", "--members-at-a-time"}) {
    mechanism->excludes(command.get_option(other));
  }
  const auto add = [&](CLI::Option* option) { option->needs(mechanism)->group(kGroup); };
  mechanism->group(kGroup);
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
  add(flags.Add("--json", training.json, "One JSON object instead of text"));
}

train::PrivateTrainingOptions PrivateTrainingOptionsOf(
    const PrivateTrainingFlags& flags, const train::EnsembleTrainingOptions& training) {
  const train::FineTuneOptions& fine_tune = training.fine_tune;
  train::PrivateTrainingOptions options = flags.options;
  options.public_directory = training.public_directory;
  options.corpus = training.corpus;
  options.ensemble_directory = training.ensemble_directory;
  options.partition_key_path = training.partition_key_path;
  options.heldout_fraction = training.partition.heldout_fraction;
  options.unit = flags.unit == "user" ? PrivacyUnit::kUserKey : PrivacyUnit::kTrainingExample;
  options.epochs = fine_tune.epochs;
  options.training.blocks_at_a_time = fine_tune.batch_size;
  static_cast<train::TrainingOptions&>(options.training) = fine_tune;
  return options;
}

base::Status RunPrivateTraining(const train::PrivateTrainingOptions& options, bool json) {
  train::PrivateTrainingOptions stoppable = options;
  stoppable.training.should_stop = [] { return interrupted != 0; };
  std::signal(SIGINT, NoteInterrupt);
  std::signal(SIGTERM, NoteInterrupt);
  const auto random = base::MakeSystemRandomSource();
  SUBMIX_ASSIGN_OR_RETURN(const PrivateTrainingReport report,
                          train::TrainPrivately(stoppable, *random, base::DetectProgressStyle()));
  if (json) {
    PrintJson(options, report);
  } else {
    PrintText(options, report);
  }
  return base::OkStatus();
}

}  // namespace submix::apps
