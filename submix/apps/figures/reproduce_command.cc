// `submix reproduce`: one figure or table of the papers, from text to picture.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "submix/apps/figures/reproduce_federated.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/training/fine_tune_flags.h"
#include "submix/model/decoder_config.h"
#include "submix/workbench/papers/figure_reproduction.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;

struct ReproduceOptions {
  std::string name;
  workbench::FigureRequest request;
  FineTuneFlags fine_tune;
  // Of the non-private model; 0: the members'.
  int non_private_batch_size = 0;
  double non_private_learning_rate = 0;
};

StatusOr<workbench::FigureRequest> RequestOf(const ReproduceOptions& options) {
  workbench::FigureRequest request = options.request;
  SUBMIX_ASSIGN_OR_RETURN(const auto config, model::LoadConfigOf(request.public_directory));
  SUBMIX_ASSIGN_OR_RETURN(request.fine_tune,
                          FineTuneOptionsOf(options.fine_tune, {}, config.layers));
  request.predictor.precision = options.fine_tune.adapter.precision;
  request.predictor.threads = request.fine_tune.threads;
  request.non_private = request.fine_tune;
  if (options.non_private_batch_size > 0) {
    request.non_private.batch_size = options.non_private_batch_size;
  }
  if (options.non_private_learning_rate > 0) {
    request.non_private.learning_rate.peak = options.non_private_learning_rate;
  }
  return request;
}

Status Reproduce(const ReproduceOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(workbench::FigureRequest request, RequestOf(options));
  SUBMIX_ASSIGN_OR_RETURN(const auto reproduction,
                          workbench::FigureReproduction::Create(request, options.name));
  const std::vector<std::string> names =
      options.name == "all" ? workbench::FigureNames() : std::vector<std::string>{options.name};
  for (const std::string& name : names) {
    const std::string title = reproduction->TitleOf(name);
    if (!title.empty()) std::fprintf(stderr, "%s: %s\n", name.c_str(), title.c_str());
    SUBMIX_ASSIGN_OR_RETURN(const eval::FigurePage page, reproduction->Make(name));
    SUBMIX_RETURN_IF_ERROR(WritePage(page, request.output));
  }
  return base::OkStatus();
}

std::string NamesOfFigures() {
  std::string names;
  for (const std::string& name : workbench::FigureNames()) names += name + ", ";
  return names + "or all; " + NamesOfFederatedFigures();
}

// The options that both kinds of figures have.
void SetFederated(const ReproduceOptions& options, FederatedFigureOptions& federated) {
  federated.name = options.name;
  const workbench::FigureRequest& request = options.request;
  workbench::FederatedRecipe& recipe = federated.request.recipe;
  federated.output = request.output;
  recipe.corpus = request.corpus;
  recipe.heldout = request.heldout;
  recipe.seed = request.seed;
  train::FineTuneOptions shared;
  shared.learning_rate.peak = recipe.local.learning_rate;
  options.fine_tune.numbers.SetSaid(shared);
  recipe.threads = shared.threads;
  recipe.local.learning_rate = shared.learning_rate.peak;
}

void AddPrivateModelFlags(CLI::App& command, workbench::PrivateModelOptions& flags) {
  constexpr const char* kGroup = "DP-SGD, beside the mechanisms";
  command
      .add_option("--dp-sgd-epochs", flags.epochs,
                  "Expected passes, a curve each; the papers' are 1 and 10. 0: no such curves")
      ->check(kNonNegative)
      ->group(kGroup);
  Flags options = command;
  options
      .Add("--dp-sgd-share", flags.share, Between(1e-6, 1), "Of the users in a step, on average")
      ->group(kGroup);
  options.Add("--dp-sgd-clip", flags.clip, kPositive, "Longest gradient of a user, in L2")
      ->group(kGroup);
  options.Add("--dp-sgd-learning-rate", flags.learning_rate, kPositive, "Of AdamW, constant")
      ->group(kGroup);
}

}  // namespace

void AddReproduceCommand(CLI::App& command, Action& action) {
  auto options = std::make_shared<ReproduceOptions>();
  auto federated = std::make_shared<FederatedFigureOptions>();
  workbench::FigureRequest& request = options->request;
  Flags flags = command;
  CLI::Option* const name = flags.Require("name", options->name, NamesOfFigures());
  flags.Require(
      "--public", request.public_directory, kDirectory,
      "Public model: a directory in Hugging Face's layout (docs/models.md has the families)");
  flags.Require("--corpus", request.corpus, kFile,
                "Private text: user-keyed .jsonl or .csv, or plain text");
  flags.Require("--heldout", request.heldout, kFile,
                "Text of other users: .jsonl, .csv or plain text");
  flags.Require("--out", request.output, "Directory for data, figures, pages and models");
  flags.Add("--users-are-blocks", request.users_are_blocks, Between(2, 1 << 20),
            "Every block of so many tokens is a user of its own (the SubMix paper: 512)");
  flags.Add("--small", request.is_small,
            "Few points, few tokens, at most 4 parts: to see that everything works");
  flags.Add("--show-text", request.shows_text,
            "dp-decoding-fig2: completions of held-out text on the page; only for text that is "
            "public");
  flags.Add("--runs", request.runs, kPositive,
            "Runs of the most tokens; default: the figure's own");
  flags.Add("--most-tokens,--most-answers", request.most_tokens, Between(4, 1 << 30),
            "Numbers of tokens above this become this: AdaPMixED's 99,840 take hours");
  flags.Add("--seed", request.seed, "Of the partition and of what mechanisms draw");
  flags.Add("--predictor", request.predictor.predictor, OneOf({"cpu", "torch"}),
            "What runs the models: cpu or torch");
  AddFineTuneFlags(command, options->fine_tune);
  // The figures' scaling is this over the rank, whatever the rank.
  options->fine_tune.adapter.lora_alpha = model::LoraConfig().lora_alpha;
  flags.Add("--non-private-batch-size", options->non_private_batch_size, kPositive,
            "Of the one model on all text; default: the members'");
  flags.Add("--non-private-learning-rate", options->non_private_learning_rate, kPositive,
            "Of the one model on all text; default: the members'. It sees k times as much text as "
            "a member, and is the better baseline at a lower rate");
  AddPrivateModelFlags(command, request.private_models);
  AddFederatedFigureFlags(command, *federated);
  // The name decides which options are required, so it is read first.
  name->each([&command](const std::string& figure) {
    const bool is_federated = IsFederatedFigure(figure);
    const bool is_trained = !is_federated || eval::NeedsTraining(figure);
    command.get_option("--public")->required(!is_federated);
    command.get_option("--corpus")->required(is_trained);
    command.get_option("--heldout")->required(is_trained);
    command.get_option("--public-text")->required(is_federated && is_trained);
  });
  command.footer(
      "Trains what the figure needs (ensembles are kept in OUT and shared between figures),\n"
      "scores all settings of an ensemble in one pass, and writes OUT/NAME.csv, .json, .svg and\n"
      ".html.\n"
      "Interrupted? The same command goes on where it was.\n"
      "Example: submix reproduce submix-fig3 --public gpt2 --corpus wikitext.train.txt \\\n"
      "             --users-are-blocks 512 --heldout wikitext.test.txt --out figures\n"
      "A user's --learning-rate of the names dp-fedavg-… is 6 unless it is given; the sizes of\n"
      "their group are the paper's. dp-fedavg-table1 needs --out alone.\n"
      "         submix reproduce dp-fedavg-fig1 --corpus blogs.jsonl.xz --heldout "
      "others.jsonl.xz\n"
      "             --public-text wiki.txt.xz --rounds 200 --tokens-per-user 400 --out figures\n"
      "The operator's view, outside every budget: publishing a figure is a release of its own.");
  command.callback([options, federated, &command, &action] {
    const bool is_federated = IsFederatedFigure(options->name);
    federated->request.is_small = options->request.is_small;
    const Status completed = CompleteFederatedFigureFlags(command, is_federated, *federated);
    if (is_federated) SetFederated(*options, *federated);
    action = [options, federated, is_federated, completed] {
      SUBMIX_RETURN_IF_ERROR(completed);
      return is_federated ? ReproduceFederated(*federated) : Reproduce(*options);
    };
  });
}

}  // namespace submix::apps
