#include "submix/apps/figures/reproduce_federated.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "submix/apps/figures/drawn_figure.h"
#include "submix/apps/flags.h"
#include "submix/base/file_system.h"
#include "submix/eval/figures/experiment_page.h"
#include "submix/eval/figures/federated_sheet.h"
#include "submix/eval/pages/html_page.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;

constexpr char kPrefix[] = "dp-fedavg-";
constexpr char kAll[] = "dp-fedavg-all";
constexpr char kGroup[] = "Figures and tables dp-fedavg-…";
// Flags of the command that both kinds of figures have.
constexpr std::array kShared = {"--help",  "--corpus", "--heldout",       "--out",
                                "--small", "--seed",   "--learning-rate", "--threads"};

eval::Provenance ProvenanceOf(const FederatedReproduction& options) {
  const FederatedRecipe& recipe = options.recipe;
  std::string public_text;
  for (const std::string& file : recipe.public_text) {
    public_text += (public_text.empty() ? "" : ", ") + base::BaseName(file);
  }
  return {{"size", options.is_small ? "a small version for a quick look" : "as asked for"},
          {"private text", base::BaseName(recipe.corpus)},
          {"users", eval::ShortNumber(options.size.population) + ", " +
                        std::to_string(recipe.tokens_per_user) + " words each"},
          {"held-out text", base::BaseName(recipe.heldout) + ", " +
                                std::to_string(recipe.heldout_tokens) + " words"},
          {"dictionary", "of " + public_text},
          {"start", recipe.public_words > 0
                        ? "a pass over " + std::to_string(recipe.public_words) + " public words"
                        : "random"},
          {"model", "LSTM, width " + std::to_string(recipe.shape.width) + ", " +
                        std::to_string(recipe.shape.units) + " units"},
          {"a user's training", std::to_string(recipe.local.epochs) + " epoch, batches of " +
                                    std::to_string(recipe.local.batch_size) + " times " +
                                    std::to_string(recipe.local.unroll) + ", learning rate " +
                                    eval::ShortNumber(recipe.local.learning_rate)},
          {"seed", std::to_string(recipe.seed) + "; private trainings draw from the system"}};
}

// Writes everything that a figure or table is.
Status Deliver(const eval::FederatedSheet& sheet, const FederatedReproduction& options) {
  const std::string path = base::JoinPath(options.output, sheet.figure.name);
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(options.output));
  SUBMIX_RETURN_IF_ERROR(base::WriteFile(path + ".json", sheet.json));
  for (const auto& [ending, content] : sheet.files) {
    SUBMIX_RETURN_IF_ERROR(base::WriteFile(path + "." + ending, content));
  }
  SUBMIX_ASSIGN_OR_RETURN(const std::string svg, DrawFigure(sheet.figure, options.output));
  std::string body = eval::HtmlFigure(svg) + sheet.body;
  if (eval::NeedsTraining(sheet.figure.name)) {
    body += eval::HtmlParagraph(
                "The operator's view, outside every budget: publishing these numbers, or choosing "
                "options by them, is a release of its own. Accuracies are means of up to five "
                "evaluations.") +
            eval::ProvenanceTable(ProvenanceOf(options));
  }
  SUBMIX_RETURN_IF_ERROR(base::WriteFile(path + ".html", eval::HtmlPage(sheet.figure.title, body)));
  std::printf("%s.html\n", path.c_str());
  return base::OkStatus();
}

template <typename T>
CLI::Option* AddGrouped(CLI::App& command, const std::string& name, T& value, const char* help) {
  return command.add_option(name, value, help)->group(kGroup);
}

}  // namespace

bool IsFederatedFigure(const std::string& name) { return name.starts_with(kPrefix); }

std::string NamesOfFederatedFigures() {
  return "dp-fedavg-fig1 … dp-fedavg-fig12, dp-fedavg-table1 … dp-fedavg-table3, or " +
         std::string(kAll);
}

void AddFederatedFigureFlags(CLI::App& command, FederatedReproduction& options) {
  FederatedRecipe& recipe = options.recipe;
  eval::FederatedSize& size = options.size;
  recipe.local.learning_rate = 6;  // the paper's
  AddGrouped(command, "--public-text", recipe.public_text,
             "Public text (.txt, .txt.xz) that the dictionary is counted in")
      ->check(CLI::ExistingFile);
  AddGrouped(command, "--rounds", size.rounds,
             "Of FedAvg; FedSGD's figures have four times as many")
      ->check(CLI::PositiveNumber);
  AddGrouped(command, "--users-per-round", size.users_per_round, "Expected; FedSGD's have half")
      ->check(kPositive);
  AddGrouped(command, "--private-users-per-round", size.private_users_per_round,
             "Of the trainings that are really private (Figure 7, Table 2)")
      ->check(kPositive);
  AddGrouped(command, "--words", size.words,
             "Of the dictionary; Figures 11 and 12 have two and three times as many")
      ->check(CLI::PositiveNumber);
  AddGrouped(command, "--tokens-per-user", recipe.tokens_per_user,
             "Users with fewer are dropped, others cut to exactly so many")
      ->check(CLI::PositiveNumber);
  AddGrouped(command, "--heldout-tokens", recipe.heldout_tokens,
             "Words of --heldout that are scored")
      ->check(CLI::PositiveNumber);
  AddGrouped(command, "--evaluate-every", recipe.evaluate_every, "Rounds between evaluations")
      ->check(CLI::PositiveNumber);
  AddGrouped(command, "--public-words", recipe.public_words,
             "Begin with a pass over so many words of --public-text; 0 = a random model, as the "
             "paper")
      ->check(CLI::NonNegativeNumber);
  AddGrouped(command, "--width", recipe.shape.width, "Of the embedding")
      ->check(CLI::PositiveNumber);
  AddGrouped(command, "--units", recipe.shape.units, "LSTM cells")->check(CLI::PositiveNumber);
  AddGrouped(command, "--every-nth", size.every_nth, "Only every n-th of the values on an axis")
      ->check(CLI::PositiveNumber);
}

Status CompleteFederatedFigureFlags(const CLI::App& command, bool is_federated,
                                    FederatedReproduction& options) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || option->get_positional()) continue;
    const std::string name = option->get_name();
    const bool is_ours = option->get_group() == kGroup;
    const bool is_shared = std::ranges::find(kShared, name) != kShared.end();
    if (is_shared || is_ours == is_federated) continue;
    return base::InvalidArgumentError(
        name + (is_ours ? ": only for the names dp-fedavg-…" : ": not for the names dp-fedavg-…"));
  }
  if (!is_federated || !options.is_small) return base::OkStatus();
  const auto unless_asked = [&](const char* name, auto& value, auto small) {
    if (command.count(name) == 0) value = small;
  };
  FederatedRecipe& recipe = options.recipe;
  unless_asked("--rounds", options.size.rounds, 4);
  unless_asked("--users-per-round", options.size.users_per_round, 8.0);
  unless_asked("--private-users-per-round", options.size.private_users_per_round, 16.0);
  unless_asked("--words", options.size.words, 200);
  unless_asked("--tokens-per-user", recipe.tokens_per_user, 50);
  unless_asked("--heldout-tokens", recipe.heldout_tokens, 500);
  unless_asked("--evaluate-every", recipe.evaluate_every, 1);
  unless_asked("--width", recipe.shape.width, 8);
  unless_asked("--units", recipe.shape.units, 8);
  unless_asked("--every-nth", options.size.every_nth, 3);
  return base::OkStatus();
}

Status ReproduceFederated(FederatedReproduction options) {
  std::vector<std::string> names = {options.name};
  if (options.name == kAll) names = eval::FederatedNames();
  if (std::ranges::find(eval::FederatedNames(), names.front()) == eval::FederatedNames().end()) {
    return base::NotFoundError("there is no figure \"" + options.name +
                               "\"; known: " + NamesOfFederatedFigures());
  }
  options.recipe.directory = base::JoinPath(options.output, "federated");
  FederatedTrainings trainings(options.recipe);
  if (std::ranges::any_of(names, eval::NeedsTraining)) {
    SUBMIX_RETURN_IF_ERROR(trainings.Prepare());
    SUBMIX_ASSIGN_OR_RETURN(options.size.population, trainings.CountUsers(options.size.words));
  }
  const eval::FederatedWorkshop workshop = {
      [&](const eval::FederatedSetting& setting) { return trainings.Train(setting); },
      [&](const eval::FederatedSetting& setting) { return trainings.CountHeadWords(setting); }};
  for (const std::string& name : names) {
    std::fprintf(stderr, "%s\n", name.c_str());
    SUBMIX_ASSIGN_OR_RETURN(const eval::FederatedSheet sheet,
                            eval::MakeFederatedSheet(name, options.size, workshop));
    SUBMIX_RETURN_IF_ERROR(Deliver(sheet, options));
  }
  return base::OkStatus();
}

}  // namespace submix::apps
