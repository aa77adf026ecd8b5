// `submix reproduce`: one figure or table of the papers, from text to picture.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/apps/figures/reproduce_federated.h"
#include "submix/apps/figures/reproduced_private_model.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/training/fine_tune_flags.h"
#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/ensemble/preparation/ensemble_preparation.h"
#include "submix/eval/figures/decoding_examples.h"
#include "submix/eval/figures/extraction_figure.h"
#include "submix/eval/figures/federated_figures.h"
#include "submix/eval/figures/paper_figures.h"
#include "submix/eval/pages/html_page.h"
#include "submix/model/decoder_config.h"
#include "submix/train/fine_tuning/ensemble_training.h"
#include "submix/train/fine_tuning/member_recipe.h"
#include "submix/workbench/models/open_models.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;

// The one figure that is no perplexity.
constexpr char kExtractionFigure[] = "submix-fig6";

struct ReproduceOptions {
  std::string name;
  std::string public_directory;
  std::string corpus;
  std::string heldout;
  std::string output;
  std::string predictor = "cpu";
  int users_are_blocks = 0;
  bool is_small = false;
  bool shows_text = false;
  int runs = 0;
  std::int64_t most_answers = 0;  // 0: no limit
  std::uint64_t seed = 0;
  FineTuneFlags fine_tune;
  PrivateModelFlags private_models;
  // Of the non-private model; 0: the members'.
  int non_private_batch_size = 0;
  double non_private_learning_rate = 0;
};

// What members, or the non-private model, are a function of.
struct Recipe {
  train::FineTuneOptions fine_tune;
  std::string hyper_parameters;  // a line each
  std::string digest;            // over them, the text, the public model and the partition key
};

std::string InOneLine(std::string lines) {
  std::replace(lines.begin(), lines.end(), '\n', ';');
  return lines;
}

// Writes user-keyed JSONL: every block of at most `block_tokens` consecutive tokens of a document
// (or, in a user-keyed file, of a user) is a user of its own, as the SubMix paper cuts WikiText.
Status WriteBlockUsers(const std::string& input, const std::string& output,
                       const tokenizer::Tokenizer& tokenizer, int block_tokens) {
  SUBMIX_ASSIGN_OR_RETURN(const eval::HeldoutText text,
                          eval::HeldoutFromFile(input, tokenizer, block_tokens - 1));
  std::string lines;
  long long users = 0;
  for (std::vector<base::TokenId> block : text.blocks) {
    std::erase(block, tokenizer.end_of_text());
    if (block.empty()) continue;
    char name[32];
    std::snprintf(name, sizeof name, "block%08lld", ++users);
    const nlohmann::json record = {{"user", name}, {"text", tokenizer.Decode(block)}};
    // A cut inside a character of several bytes leaves bytes that are no text.
    lines += record.dump(-1, ' ', false, nlohmann::json::error_handler_t::ignore) + "\n";
  }
  return base::WriteFile(output, lines, 0600);
}

// One invocation: everything that it makes lies in its output directory.
StatusOr<std::vector<ensemble::OpenedEnsemble>> OpenAll(
    const std::vector<std::string>& directories) {
  std::vector<ensemble::OpenedEnsemble> ensembles;
  for (const std::string& directory : directories) {
    SUBMIX_ASSIGN_OR_RETURN(ensembles.emplace_back(), ensemble::OpenedEnsemble::Open(directory));
  }
  return ensembles;
}

class Reproduction {
 public:
  explicit Reproduction(const ReproduceOptions& options) : options_(options) {}

  Status Run() {
    SUBMIX_RETURN_IF_ERROR(Prepare());
    if (options_.name == kExtractionFigure) return MakeExtractionFigure();
    if (options_.name != "all") return Make(options_.name);
    for (const std::string& name : eval::PerplexityStudyNames()) SUBMIX_RETURN_IF_ERROR(Make(name));
    return MakeExtractionFigure();
  }

 private:
  std::string File(const std::string& name) const { return base::JoinPath(options_.output, name); }

  Status Prepare() {
    if (options_.name != "all" && options_.name != kExtractionFigure) {
      // A misspelt name is known before the first training.
      SUBMIX_RETURN_IF_ERROR(eval::MakePerplexityStudy(options_.name, size_).status());
    }
    SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(options_.output));
    SUBMIX_ASSIGN_OR_RETURN(const auto config, model::LoadConfigOf(options_.public_directory));
    SUBMIX_ASSIGN_OR_RETURN(tokenizer_, ensemble::LoadFittingTokenizer(options_.public_directory));
    corpus_ = options_.corpus;
    if (options_.users_are_blocks > 0) {
      corpus_ = File("block_users.jsonl");
      SUBMIX_RETURN_IF_ERROR(
          WriteBlockUsers(options_.corpus, corpus_, *tokenizer_, options_.users_are_blocks));
    }
    // A key that does not depend on the text, so that the same command cuts it alike.
    SUBMIX_RETURN_IF_ERROR(corpus::SavePartitionKey(
        base::Sha256("submix reproduce\n" + std::to_string(options_.seed)), File("partition.key")));
    SUBMIX_ASSIGN_OR_RETURN(source_.heldout, eval::HeldoutFromFile(options_.heldout, *tokenizer_,
                                                                   config.context_length));
    SetSize(config);
    SUBMIX_RETURN_IF_ERROR(WriteRecipes(config.layers));
    SetSource();
    return base::OkStatus();
  }

  void SetSize(const model::DecoderConfig& config) {
    size_.runs = options_.runs;
    if (options_.most_answers > 0) size_.most_queries = options_.most_answers;
    size_.private_epochs.clear();
    for (const int epochs : options_.private_models.epochs) {
      if (epochs > 0) size_.private_epochs.push_back(epochs);
    }
    size_.vocab_size = config.vocab_size;
    double tokens = 0;
    for (const auto& block : source_.heldout.blocks) {
      tokens += static_cast<double>(block.size()) - 1;
      size_.most_text_tokens =
          std::max(size_.most_text_tokens, static_cast<double>(block.size()) - 1);
    }
    size_.mean_text_tokens = tokens / static_cast<double>(source_.heldout.blocks.size());
    if (!options_.is_small) return;
    size_.divide_queries = 128;
    size_.most_parts = 4;
    size_.every_nth = 3;
    if (size_.private_epochs.size() > 1) size_.private_epochs.resize(1);
    if (size_.runs == 0) size_.runs = 1;
  }

  // Digests of all that an ensemble is a function of beside its recipe, a line each.
  StatusOr<std::string> SourcesOf(const std::string& corpus) const {
    std::string sources;
    for (const std::string& file :
         {corpus, base::JoinPath(options_.public_directory, "model.safetensors"),
          File("partition.key")}) {
      SUBMIX_ASSIGN_OR_RETURN(const auto digest, base::Sha256OfFile(file));
      sources += base::ToHex(digest) + "\n";
    }
    return sources;
  }

  Status WriteRecipes(int layers) {
    SUBMIX_ASSIGN_OR_RETURN(const std::string sources, SourcesOf(corpus_));
    SUBMIX_ASSIGN_OR_RETURN(train::FineTuneOptions fine_tune,
                            FineTuneOptionsOf(options_.fine_tune, layers));
    members_ = RecipeOf(fine_tune, sources);
    if (options_.non_private_batch_size > 0) {
      fine_tune.batch_size = options_.non_private_batch_size;
    }
    if (options_.non_private_learning_rate > 0) {
      fine_tune.learning_rate.peak = options_.non_private_learning_rate;
    }
    non_private_ = RecipeOf(fine_tune, sources);
    private_models_ = {File("ensembles"),     sources,   options_.public_directory, corpus_,
                       File("partition.key"), fine_tune, options_.private_models};
    return base::OkStatus();
  }

  static Recipe RecipeOf(const train::FineTuneOptions& fine_tune, const std::string& sources) {
    Recipe recipe = {fine_tune, "", ""};
    for (const auto& [name, value] : train::HyperParameters(fine_tune)) {
      recipe.hyper_parameters += name + " " + value + "\n";
    }
    recipe.digest = base::ToHex(base::Sha256(recipe.hyper_parameters + sources)).substr(0, 12);
    return recipe;
  }

  void SetSource() {
    predictor_ = {options_.predictor, options_.fine_tune.adapter.precision,
                  options_.fine_tune.options.threads};
    source_.train = [this](const eval::EnsembleShape& shape) { return Train(shape); };
    source_.train_privately = [this](const eval::PrivateTraining& asked) {
      return TrainPrivateModel(private_models_, asked);
    };
    source_.load = [this](const std::string& directory, const std::vector<std::string>& extra)
        -> StatusOr<std::unique_ptr<ensemble::Predictor>> {
      SUBMIX_ASSIGN_OR_RETURN(const auto ensemble, ensemble::OpenedEnsemble::Open(directory));
      SUBMIX_ASSIGN_OR_RETURN(const auto others, OpenAll(extra));
      return workbench::LoadEnsemble(predictor_, *tokenizer_, ensemble, others);
    };
    source_.models_digest =
        [this](const std::vector<std::string>& directories) -> StatusOr<base::Sha256Digest> {
      SUBMIX_ASSIGN_OR_RETURN(const auto ensembles, OpenAll(directories));
      return workbench::ModelsDigest(predictor_, ensembles);
    };
    source_.checkpoint_directory = File("runs");
    source_.seed = options_.seed;
    source_.public_model = base::BaseName(options_.public_directory);
    source_.adapters = Adapters();
  }

  StatusOr<std::string> Train(const eval::EnsembleShape& shape) {
    return Train(shape, corpus_, shape == eval::EnsembleShape{1, 1} ? non_private_ : members_, "");
  }

  // Returns the ensemble's directory, whose name starts with `prefix`. Checked against the text
  // once: figures ask for the same ensembles again and again.
  StatusOr<std::string> Train(const eval::EnsembleShape& shape, const std::string& corpus,
                              const Recipe& recipe, const std::string& prefix) {
    train::EnsembleTrainingOptions training;
    training.public_directory = options_.public_directory;
    training.corpus = corpus;
    training.ensemble_directory = File("ensembles/" + prefix + std::to_string(shape.num_parts) +
                                       "x" + std::to_string(shape.halves) + "-" + recipe.digest);
    if (trained_.contains(training.ensemble_directory)) return training.ensemble_directory;
    training.partition = {shape.num_parts, shape.halves, /*heldout_fraction=*/0};
    training.partition_key_path = File("partition.key");
    training.fine_tune = recipe.fine_tune;
    SUBMIX_RETURN_IF_ERROR(train::TrainEnsemble(training, base::DetectProgressStyle()));
    trained_.insert(training.ensemble_directory);
    return training.ensemble_directory;
  }

  // So many sentences a member, read so often that they are known by heart.
  train::FineTuneOptions CodeFineTune(int sentences) const {
    train::FineTuneOptions fine_tune = members_.fine_tune;
    fine_tune.lora.reset();
    fine_tune.epochs = (options_.is_small ? 15 : 1000) / sentences;
    fine_tune.batch_size = 1;
    fine_tune.block_tokens = 24;
    fine_tune.learning_rate.peak = 3e-4;
    fine_tune.learning_rate.warmup_fraction = 0.1;
    return fine_tune;
  }

  Status MakeExtractionFigure() {
    eval::CodeExperiment experiment;
    if (options_.is_small) {
      experiment.digits = {3};
      experiment.generations = {20};
      experiment.epsilons = {1, 1000};
    }
    SUBMIX_ASSIGN_OR_RETURN(const auto key, corpus::LoadPartitionKey(File("partition.key")));
    const auto train = [this](int digits, const std::string& jsonl,
                              const eval::EnsembleShape& shape) -> StatusOr<std::string> {
      const auto users = static_cast<int>(std::count(jsonl.begin(), jsonl.end(), '\n'));
      const std::string corpus = File("codes" + std::to_string(digits) + ".jsonl");
      SUBMIX_RETURN_IF_ERROR(base::WriteFile(corpus, jsonl));
      SUBMIX_ASSIGN_OR_RETURN(const std::string sources, SourcesOf(corpus));
      const Recipe recipe =
          RecipeOf(CodeFineTune(users / (shape.num_parts * shape.halves)), sources);
      return Train(shape, corpus, recipe, "codes" + std::to_string(digits) + "-");
    };
    eval::FigurePage page;
    SUBMIX_ASSIGN_OR_RETURN(page.figure,
                            eval::RunCodeExperiment(experiment, key, *tokenizer_, train, source_));
    page.figure.name = kExtractionFigure;
    page.figure.title = "SubMix, Figure 6: extraction of planted numbers, 3 parts in pairs";
    // Figure 6 has a text and a recipe of its own.
    page.provenance = {
        {"figure", FigureName(kExtractionFigure)},
        {"public model", source_.public_model},
        {"private text", "\"My number is: …\", a number a user"},
        {"members' recipe", InOneLine(RecipeOf(CodeFineTune(1), "").hyper_parameters)},
        {"predictor", predictor_.Description()},
        {"seed", std::to_string(options_.seed)}};
    page.json = eval::FigureJson(page.figure, page.provenance);
    page.body =
        eval::HtmlParagraph(
            "Six users, one sentence each; what is drawn after its words is a hit if it is "
            "somebody's number. All weights are trained for 1,000 iterations, as in the paper, "
            "which finds no hit at epsilon 100 and below. Blind guessing of two digits hits 6 "
            "times in 100.") +
        eval::HtmlParagraph("The operator's view, of numbers that are nobody's.");
    return WritePage(page, options_.output);
  }

  Status Make(const std::string& name) {
    SUBMIX_ASSIGN_OR_RETURN(const eval::PerplexityStudy study,
                            eval::MakePerplexityStudy(name, size_));
    std::fprintf(stderr, "%s: %s\n", name.c_str(), study.figure.title.c_str());
    source_.provenance = ProvenanceOf(name);
    SUBMIX_ASSIGN_OR_RETURN(eval::FigurePage page, eval::RunPerplexityStudy(study, source_));
    if (options_.shows_text && name == "dp-decoding-fig2") {
      SUBMIX_ASSIGN_OR_RETURN(const std::string examples, DecodingExamples());
      page.body += examples;
    }
    return WritePage(page, options_.output);
  }

  // Three texts at three levels, as in the paper's Appendix B.
  StatusOr<std::string> DecodingExamples() {
    const std::vector<double> weights = {0.99, 0.7, 0.2};
    SUBMIX_ASSIGN_OR_RETURN(const std::string directory, Train({1, 1}));
    SUBMIX_ASSIGN_OR_RETURN(const auto predictor, source_.load(directory, {}));
    SUBMIX_ASSIGN_OR_RETURN(
        const auto examples,
        eval::SampleDecodingExamples(*predictor, *tokenizer_, source_.heldout.blocks, weights,
                                     /*count=*/3, options_.seed));
    std::vector<std::string> headings = {"text", "goes on"};
    for (const double weight : weights) headings.push_back("weight " + eval::ShortNumber(weight));
    eval::HtmlTable table(headings);
    for (const eval::DecodingExample& example : examples) {
      std::vector<eval::HtmlCell> cells = {example.prompt, example.truth};
      cells.insert(cells.end(), example.completions.begin(), example.completions.end());
      table.Row(cells);
    }
    return table.HtmlUnder("What it looks like");
  }

  // How members are made, in a word or two.
  std::string Adapters() const {
    const auto& lora = members_.fine_tune.lora;
    if (!lora) return "all weights";
    const std::size_t layers = lora->layers.size();
    return "rank " + std::to_string(lora->rank) +
           (layers > 0 ? " on the top " + std::to_string(layers) + " layers" : " on all layers");
  }

  std::string FigureName(const std::string& name) const {
    return name + (options_.is_small ? ", a small version for a quick look" : "");
  }

  eval::Provenance ProvenanceOf(const std::string& name) const {
    return {{"figure", FigureName(name)},
            {"public model", source_.public_model},
            {"private text", base::BaseName(options_.corpus)},
            {"users", options_.users_are_blocks > 0
                          ? "blocks of " + std::to_string(options_.users_are_blocks) + " tokens"
                          : "the corpus's own"},
            {"held-out text", base::BaseName(options_.heldout)},
            {"members' recipe", InOneLine(members_.hyper_parameters)},
            {"recipe without privacy", InOneLine(non_private_.hyper_parameters)},
            {"predictor", predictor_.Description()},
            {"seed", std::to_string(options_.seed)}};
  }

  const ReproduceOptions options_;
  workbench::ModelOptions predictor_;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
  std::string corpus_;
  Recipe members_;
  Recipe non_private_;
  PrivateModelRecipe private_models_;
  eval::StudySize size_;
  eval::ModelSource source_;
  std::set<std::string> trained_;  // directories
};

std::string NamesOfFigures() {
  std::string names;
  for (const std::string& name : eval::PerplexityStudyNames()) names += name + ", ";
  return names + kExtractionFigure + ", or all; " + NamesOfFederatedFigures();
}

// The options that both kinds of figures have.
void SetFederated(const CLI::App& command, const ReproduceOptions& options,
                  FederatedReproduction& federated) {
  federated.name = options.name;
  federated.output = options.output;
  federated.recipe.corpus = options.corpus;
  federated.recipe.heldout = options.heldout;
  federated.recipe.seed = options.seed;
  const train::FineTuneOptions& shared = options.fine_tune.options;
  federated.recipe.threads = shared.threads;
  if (command.count("--learning-rate") > 0) {
    federated.recipe.local.learning_rate = shared.learning_rate.peak;
  }
}

}  // namespace

void AddReproduceCommand(CLI::App& command, Action& action) {
  auto options = std::make_shared<ReproduceOptions>();
  auto federated = std::make_shared<FederatedReproduction>();
  Flags flags = command;
  CLI::Option* const name = flags.Require("name", options->name, NamesOfFigures());
  flags.Require(
      "--public", options->public_directory, kDirectory,
      "Public model: a directory in Hugging Face's layout (docs/models.md has the families)");
  flags.Require("--corpus", options->corpus, kFile,
                "Private text: user-keyed .jsonl or .csv, or plain text");
  flags.Require("--heldout", options->heldout, kFile,
                "Text of other users: .jsonl, .csv or plain text");
  flags.Require("--out", options->output, "Directory for data, figures, pages and models");
  flags.Add("--users-are-blocks", options->users_are_blocks, Between(2, 1 << 20),
            "Every block of so many tokens is a user of its own (the SubMix paper: 512)");
  flags.Add("--small", options->is_small,
            "Few points, few answers, at most 4 parts: to see that everything works");
  flags.Add("--show-text", options->shows_text,
            "dp-decoding-fig2: completions of held-out text on the page; only for text that is "
            "public");
  flags.Add("--runs", options->runs, kPositive,
            "Runs of the most answers; default: the figure's own");
  flags.Add("--most-answers", options->most_answers, Between(4, 1 << 30),
            "Numbers of answers above this become this: AdaPMixED's 99,840 take hours");
  flags.Add("--seed", options->seed, "Of the partition and of what mechanisms draw");
  flags.Add("--predictor", options->predictor, OneOf({"cpu", "torch"}),
            "What runs the models: cpu or torch");
  AddFineTuneFlags(command, options->fine_tune);
  flags.Add("--non-private-batch-size", options->non_private_batch_size, kPositive,
            "Of the one model on all text; default: the members'");
  flags.Add("--non-private-learning-rate", options->non_private_learning_rate, kPositive,
            "Of the one model on all text; default: the members'. It sees k times as much text as "
            "a member, and is the better baseline at a lower rate");
  AddPrivateModelFlags(command, options->private_models);
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
    federated->is_small = options->is_small;
    const Status completed = CompleteFederatedFigureFlags(command, is_federated, *federated);
    if (is_federated) SetFederated(command, *options, *federated);
    action = [options, federated, is_federated, completed] {
      SUBMIX_RETURN_IF_ERROR(completed);
      return is_federated ? ReproduceFederated(*federated) : Reproduction(*options).Run();
    };
  });
}

}  // namespace submix::apps
