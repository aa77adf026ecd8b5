#include "submix/apps/figures/reproduce_federated.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "submix/apps/flags.h"
#include "submix/base/file_system.h"

namespace submix::apps {
namespace {

using base::Status;

constexpr char kPrefix[] = "dp-fedavg-";
constexpr char kAll[] = "dp-fedavg-all";
constexpr char kGroup[] = "Figures and tables dp-fedavg-…";
// Flags of the command that both kinds of figures have.
constexpr std::array kShared = {"--help",  "--corpus", "--heldout",       "--out",
                                "--small", "--seed",   "--learning-rate", "--threads"};

}  // namespace

bool IsFederatedFigure(const std::string& name) { return name.starts_with(kPrefix); }

std::string NamesOfFederatedFigures() {
  return "dp-fedavg-fig1 … dp-fedavg-fig12, dp-fedavg-table1 … dp-fedavg-table3, or " +
         std::string(kAll);
}

void AddFederatedFigureFlags(CLI::App& command, FederatedFigureOptions& options) {
  workbench::FederatedRecipe& recipe = options.request.recipe;
  eval::FederatedSize& size = options.request.size;
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
                                    FederatedFigureOptions& options) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || option->get_positional()) continue;
    const std::string name = option->get_name();
    const bool is_ours = option->get_group() == kGroup;
    const bool is_shared = std::ranges::find(kShared, name) != kShared.end();
    if (is_shared || is_ours == is_federated) continue;
    return base::InvalidArgumentError(
        name + (is_ours ? ": only for the names dp-fedavg-…" : ": not for the names dp-fedavg-…"));
  }
  if (!is_federated || !options.request.is_small) return base::OkStatus();
  const auto unless_asked = [&](const char* name, auto& value, auto small) {
    if (command.count(name) == 0) value = small;
  };
  workbench::FederatedRecipe& recipe = options.request.recipe;
  unless_asked("--rounds", options.request.size.rounds, 4);
  unless_asked("--users-per-round", options.request.size.users_per_round, 8.0);
  unless_asked("--private-users-per-round", options.request.size.private_users_per_round, 16.0);
  unless_asked("--words", options.request.size.words, 200);
  unless_asked("--tokens-per-user", recipe.tokens_per_user, 50);
  unless_asked("--heldout-tokens", recipe.heldout_tokens, 500);
  unless_asked("--evaluate-every", recipe.evaluate_every, 1);
  unless_asked("--width", recipe.shape.width, 8);
  unless_asked("--units", recipe.shape.units, 8);
  unless_asked("--every-nth", options.request.size.every_nth, 3);
  return base::OkStatus();
}

Status ReproduceFederated(FederatedFigureOptions options) {
  const std::vector<std::string> known = eval::FederatedNames();
  const std::vector<std::string> names =
      options.name == kAll ? known : std::vector<std::string>{options.name};
  if (std::ranges::find(known, names.front()) == known.end()) {
    return base::NotFoundError("there is no figure \"" + options.name +
                               "\"; known: " + NamesOfFederatedFigures());
  }
  options.request.recipe.directory = base::JoinPath(options.output, "federated");
  SUBMIX_ASSIGN_OR_RETURN(const auto reproduction,
                          workbench::FederatedReproduction::Create(options.request, names));
  for (const std::string& name : names) {
    std::fprintf(stderr, "%s\n", name.c_str());
    SUBMIX_ASSIGN_OR_RETURN(const eval::FigurePage page, reproduction.Make(name));
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
