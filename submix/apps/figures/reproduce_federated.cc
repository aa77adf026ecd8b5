#include "submix/apps/figures/reproduce_federated.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "submix/apps/flags.h"
#include "submix/base/file_system.h"
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
  command
      .add_option("--public-text", recipe.public_text,
                  "Public text (.txt, .txt.xz) that the dictionary is counted in")
      ->check(kFile)
      ->group(kGroup);
  Flags flags = command;
  const auto add = [&](const char* name, auto& value, const CLI::Validator& check,
                       const char* help) { flags.Add(name, value, check, help)->group(kGroup); };
  add("--rounds", size.rounds, kPositive, "Of FedAvg; FedSGD's figures have four times as many");
  add("--users-per-round", size.users_per_round, kPositive, "Expected; FedSGD's have half");
  add("--private-users-per-round", size.private_users_per_round, kPositive,
      "Of the trainings that are really private (Figure 7, Table 2)");
  add("--words", size.words, kPositive,
      "Of the dictionary; Figures 11 and 12 have two and three times as many");
  add("--tokens-per-user", recipe.tokens_per_user, kPositive,
      "Users with fewer are dropped, others cut to exactly so many");
  add("--heldout-tokens", recipe.heldout_tokens, kPositive, "Words of --heldout that are scored");
  add("--evaluate-every", recipe.evaluate_every, kPositive, "Rounds between evaluations");
  add("--public-words", recipe.public_words, kNonNegative,
      "Begin with a pass over so many words of --public-text; 0 = a random model, as the paper");
  add("--width", recipe.shape.width, kPositive, "Of the embedding");
  add("--units", recipe.shape.units, kPositive, "LSTM cells");
  add("--every-nth", size.every_nth, kPositive, "Only every n-th of the values on an axis");
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
  const std::vector<std::string> known = eval::FederatedNames();
  const std::vector<std::string> names =
      options.name == kAll ? known : std::vector<std::string>{options.name};
  if (std::ranges::find(known, names.front()) == known.end()) {
    return base::NotFoundError("there is no figure \"" + options.name +
                               "\"; known: " + NamesOfFederatedFigures());
  }
  options.recipe.directory = base::JoinPath(options.output, "federated");
  FederatedModels models;
  if (std::ranges::any_of(names, eval::NeedsTraining)) {
    SUBMIX_ASSIGN_OR_RETURN(models, OpenFederatedModels(options.recipe, options.size.words));
    options.size.population = models.users;
  }
  for (const std::string& name : names) {
    std::fprintf(stderr, "%s\n", name.c_str());
    SUBMIX_ASSIGN_OR_RETURN(eval::FigurePage page,
                            eval::MakeFederatedPage(name, options.size, models.source));
    if (eval::NeedsTraining(name)) {
      page.body += eval::HtmlParagraph(
          "The operator's view, outside every budget: publishing these numbers, or choosing "
          "options by them, is a release of its own. Accuracies are means of up to five "
          "evaluations.");
      page.provenance = ProvenanceOf(options);
    }
    SUBMIX_RETURN_IF_ERROR(WritePage(page, options.output));
  }
  return base::OkStatus();
}

Status WritePage(const eval::FigurePage& page, const std::string& directory) {
  const Status written = eval::WriteFigurePage(page, directory);
  if (written.code() == base::StatusCode::kUnavailable) {
    std::fprintf(stderr, "%s\n", written.message().c_str());
  } else {
    SUBMIX_RETURN_IF_ERROR(written);
  }
  std::printf("%s.html\n", base::JoinPath(directory, page.figure.name).c_str());
  return base::OkStatus();
}

}  // namespace submix::apps
