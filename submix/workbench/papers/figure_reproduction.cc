#include "submix/workbench/papers/figure_reproduction.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/ensemble/preparation/ensemble_preparation.h"
#include "submix/eval/figures/decoding_examples.h"
#include "submix/eval/figures/extraction_figure.h"
#include "submix/eval/pages/html_page.h"
#include "submix/train/fine_tuning/ensemble_training.h"
#include "submix/train/recipes/member_recipe.h"
#include "submix/workbench/models/open_models.h"

namespace submix::workbench {
namespace {

using base::Status;
using base::StatusOr;

// The one figure that is no perplexity.
constexpr char kExtractionFigure[] = "submix-fig6";

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

StatusOr<std::vector<ensemble::OpenedEnsemble>> OpenAll(
    const std::vector<std::string>& directories) {
  std::vector<ensemble::OpenedEnsemble> ensembles;
  for (const std::string& directory : directories) {
    SUBMIX_ASSIGN_OR_RETURN(ensembles.emplace_back(), ensemble::OpenedEnsemble::Open(directory));
  }
  return ensembles;
}

}  // namespace

std::vector<std::string> FigureNames() {
  std::vector<std::string> names = eval::PerplexityStudyNames();
  names.push_back(kExtractionFigure);
  return names;
}

StatusOr<std::unique_ptr<FigureReproduction>> FigureReproduction::Create(FigureRequest request,
                                                                         const std::string& name) {
  std::unique_ptr<FigureReproduction> made(new FigureReproduction(std::move(request)));
  if (name != "all" && name != kExtractionFigure) {
    // A misspelt name is known before the first training.
    SUBMIX_RETURN_IF_ERROR(eval::MakePerplexityStudy(name, made->size_).status());
  }
  SUBMIX_RETURN_IF_ERROR(made->Prepare());
  return made;
}

std::string FigureReproduction::TitleOf(const std::string& name) const {
  const auto study = eval::MakePerplexityStudy(name, size_);
  return study.ok() ? study->figure.title : "";
}

std::string FigureReproduction::File(const std::string& name) const {
  return base::JoinPath(request_.output, name);
}

Status FigureReproduction::Prepare() {
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(request_.output));
  SUBMIX_ASSIGN_OR_RETURN(const auto config, model::LoadConfigOf(request_.public_directory));
  SUBMIX_ASSIGN_OR_RETURN(tokenizer_, ensemble::LoadFittingTokenizer(request_.public_directory));
  corpus_ = request_.corpus;
  if (request_.users_are_blocks > 0) {
    corpus_ = File("block_users.jsonl");
    SUBMIX_RETURN_IF_ERROR(
        WriteBlockUsers(request_.corpus, corpus_, *tokenizer_, request_.users_are_blocks));
  }
  // A key that does not depend on the text, so that the same command cuts it alike.
  SUBMIX_RETURN_IF_ERROR(corpus::SavePartitionKey(
      base::Sha256("submix reproduce\n" + std::to_string(request_.seed)), File("partition.key")));
  SUBMIX_ASSIGN_OR_RETURN(
      source_.heldout, eval::HeldoutFromFile(request_.heldout, *tokenizer_, config.context_length));
  SetSize(config);
  SUBMIX_RETURN_IF_ERROR(SetRecipes());
  SetSource();
  return base::OkStatus();
}

void FigureReproduction::SetSize(const model::DecoderConfig& config) {
  size_.runs = request_.runs;
  if (request_.most_tokens > 0) size_.most_tokens = request_.most_tokens;
  size_.private_epochs.clear();
  for (const int epochs : request_.private_models.epochs) {
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
  if (!request_.is_small) return;
  size_.divide_tokens = 128;
  size_.most_parts = 4;
  size_.every_nth = 3;
  if (size_.private_epochs.size() > 1) size_.private_epochs.resize(1);
  if (size_.runs == 0) size_.runs = 1;
}

// Digests of all that an ensemble is a function of beside its recipe, a line each.
StatusOr<std::string> FigureReproduction::SourcesOf(const std::string& corpus) const {
  std::string sources;
  for (const std::string& file :
       {corpus, base::JoinPath(request_.public_directory, "model.safetensors"),
        File("partition.key")}) {
    SUBMIX_ASSIGN_OR_RETURN(const auto digest, base::Sha256OfFile(file));
    sources += base::ToHex(digest) + "\n";
  }
  return sources;
}

Status FigureReproduction::SetRecipes() {
  SUBMIX_ASSIGN_OR_RETURN(const std::string sources, SourcesOf(corpus_));
  members_ = RecipeOf(request_.fine_tune, sources);
  non_private_ = RecipeOf(request_.non_private, sources);
  private_models_ = {File("ensembles"),         sources,
                     request_.public_directory, corpus_,
                     File("partition.key"),     request_.non_private,
                     request_.private_models};
  return base::OkStatus();
}

FigureReproduction::Recipe FigureReproduction::RecipeOf(const train::FineTuneOptions& fine_tune,
                                                        const std::string& sources) {
  Recipe recipe = {fine_tune, "", ""};
  for (const auto& [name, value] : train::HyperParameters(fine_tune)) {
    recipe.hyper_parameters += name + " " + value + "\n";
  }
  recipe.digest = base::ToHex(base::Sha256(recipe.hyper_parameters + sources)).substr(0, 12);
  return recipe;
}

void FigureReproduction::SetSource() {
  source_.train = [this](const eval::EnsembleShape& shape) {
    return Train(shape, corpus_, shape == eval::EnsembleShape{1, 1} ? non_private_ : members_, "");
  };
  source_.train_privately = [this](const eval::PrivateTraining& asked) {
    return TrainPrivateModel(private_models_, asked);
  };
  source_.load = [this](const std::string& directory, const std::vector<std::string>& extra)
      -> StatusOr<std::unique_ptr<ensemble::Predictor>> {
    SUBMIX_ASSIGN_OR_RETURN(const auto ensemble, ensemble::OpenedEnsemble::Open(directory));
    SUBMIX_ASSIGN_OR_RETURN(const auto others, OpenAll(extra));
    return LoadEnsemble(request_.predictor, *tokenizer_, ensemble, others);
  };
  source_.models_digest =
      [this](const std::vector<std::string>& directories) -> StatusOr<base::Sha256Digest> {
    SUBMIX_ASSIGN_OR_RETURN(const auto ensembles, OpenAll(directories));
    return ModelsDigest(request_.predictor, ensembles);
  };
  source_.checkpoint_directory = File("runs");
  source_.seed = request_.seed;
  source_.public_model = base::BaseName(request_.public_directory);
  source_.adapters = Adapters();
}

// Returns the ensemble's directory, whose name starts with `prefix`. Checked against the text
// once: figures ask for the same ensembles again and again.
StatusOr<std::string> FigureReproduction::Train(const eval::EnsembleShape& shape,
                                                const std::string& corpus, const Recipe& recipe,
                                                const std::string& prefix) {
  train::EnsembleTrainingOptions training;
  training.public_directory = request_.public_directory;
  training.corpus = corpus;
  training.ensemble_directory = File("ensembles/" + prefix + std::to_string(shape.num_parts) + "x" +
                                     std::to_string(shape.halves) + "-" + recipe.digest);
  if (trained_.contains(training.ensemble_directory)) return training.ensemble_directory;
  training.partition = {shape.num_parts, shape.halves, /*heldout_fraction=*/0};
  training.partition_key_path = File("partition.key");
  training.fine_tune = recipe.fine_tune;
  SUBMIX_RETURN_IF_ERROR(train::TrainEnsemble(training, base::DetectProgressStyle()));
  trained_.insert(training.ensemble_directory);
  return training.ensemble_directory;
}

// So many sentences a member, read so often that they are known by heart.
train::FineTuneOptions FigureReproduction::CodeFineTune(int sentences) const {
  train::FineTuneOptions fine_tune = members_.fine_tune;
  fine_tune.lora.reset();
  fine_tune.epochs = (request_.is_small ? 15 : 1000) / sentences;
  fine_tune.batch_size = 1;
  fine_tune.block_tokens = 24;
  fine_tune.learning_rate.peak = 3e-4;
  fine_tune.learning_rate.warmup_fraction = 0.1;
  return fine_tune;
}

StatusOr<eval::FigurePage> FigureReproduction::MakeExtractionFigure() {
  eval::CodeExperiment experiment;
  if (request_.is_small) {
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
    const Recipe recipe = RecipeOf(CodeFineTune(users / (shape.num_parts * shape.halves)), sources);
    return Train(shape, corpus, recipe, "codes" + std::to_string(digits) + "-");
  };
  eval::FigurePage page;
  SUBMIX_ASSIGN_OR_RETURN(page.figure,
                          eval::RunCodeExperiment(experiment, key, *tokenizer_, train, source_));
  page.figure.name = kExtractionFigure;
  page.figure.title = "SubMix, Figure 6: extraction of planted numbers, 3 parts in pairs";
  // Figure 6 has a text and a recipe of its own.
  page.provenance = {{"figure", FigureName(kExtractionFigure)},
                     {"public model", source_.public_model},
                     {"private text", "\"My number is: …\", a number a user"},
                     {"members' recipe", InOneLine(RecipeOf(CodeFineTune(1), "").hyper_parameters)},
                     {"predictor", request_.predictor.Description()},
                     {"seed", std::to_string(request_.seed)}};
  page.json = eval::FigureJson(page.figure, page.provenance);
  page.body =
      eval::HtmlParagraph(
          "Six users, one sentence each; what is drawn after its words is a hit if it is "
          "somebody's number. All weights are trained for 1,000 iterations, as in the paper, "
          "which finds no hit at epsilon 100 and below. Blind guessing of two digits hits 6 "
          "times in 100.") +
      eval::HtmlParagraph("The operator's view, of numbers that are nobody's.");
  return page;
}

StatusOr<eval::FigurePage> FigureReproduction::Make(const std::string& name) {
  if (name == kExtractionFigure) return MakeExtractionFigure();
  SUBMIX_ASSIGN_OR_RETURN(const eval::PerplexityStudy study,
                          eval::MakePerplexityStudy(name, size_));
  source_.provenance = ProvenanceOf(name);
  SUBMIX_ASSIGN_OR_RETURN(eval::FigurePage page, eval::RunPerplexityStudy(study, source_));
  if (request_.shows_text && name == "dp-decoding-fig2") {
    SUBMIX_ASSIGN_OR_RETURN(const std::string examples, DecodingExamples());
    page.body += examples;
  }
  return page;
}

// Three texts at three levels, as in the paper's Appendix B.
StatusOr<std::string> FigureReproduction::DecodingExamples() {
  const std::vector<double> weights = {0.99, 0.7, 0.2};
  SUBMIX_ASSIGN_OR_RETURN(const std::string directory, source_.train({1, 1}));
  SUBMIX_ASSIGN_OR_RETURN(const auto predictor, source_.load(directory, {}));
  SUBMIX_ASSIGN_OR_RETURN(
      const auto examples,
      eval::SampleDecodingExamples(*predictor, *tokenizer_, source_.heldout.blocks, weights,
                                   /*count=*/3, request_.seed));
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
std::string FigureReproduction::Adapters() const {
  const auto& lora = members_.fine_tune.lora;
  if (!lora) return "all weights";
  const std::size_t layers = lora->layers.size();
  return "rank " + std::to_string(lora->rank) +
         (layers > 0 ? " on the top " + std::to_string(layers) + " layers" : " on all layers");
}

std::string FigureReproduction::FigureName(const std::string& name) const {
  return name + (request_.is_small ? ", a small version for a quick look" : "");
}

eval::Provenance FigureReproduction::ProvenanceOf(const std::string& name) const {
  return {{"figure", FigureName(name)},
          {"public model", source_.public_model},
          {"private text", base::BaseName(request_.corpus)},
          {"users", request_.users_are_blocks > 0
                        ? "blocks of " + std::to_string(request_.users_are_blocks) + " tokens"
                        : "the corpus's own"},
          {"held-out text", base::BaseName(request_.heldout)},
          {"members' recipe", InOneLine(members_.hyper_parameters)},
          {"recipe without privacy", InOneLine(non_private_.hyper_parameters)},
          {"predictor", request_.predictor.Description()},
          {"seed", std::to_string(request_.seed)}};
}

}  // namespace submix::workbench
