// Figures and tables of the papers on ensembles, from text to page. DP-FedAvg's are in
// federated_reproduction.h.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/ensemble/opened_ensemble.h"
#include "submix/eval/figures/paper_figures.h"
#include "submix/eval/figures/perplexity_study.h"
#include "submix/eval/pages/figure.h"
#include "submix/model/decoder_config.h"
#include "submix/tokenizer/tokenizer.h"
#include "submix/train/fine_tuning/fine_tune.h"
#include "submix/workbench/models/model_options.h"
#include "submix/workbench/papers/private_models.h"

namespace submix::workbench {

struct FigureRequest {
  std::string public_directory;
  std::string corpus;
  std::string heldout;
  std::string output;  // directory of all that is made
  ModelOptions predictor;
  int users_are_blocks = 0;          // every block of so many tokens is a user; 0: the corpus's own
  bool is_small = false;             // few points, few tokens, at most 4 parts
  bool shows_text = false;           // completions of held-out text, where a figure has them
  int runs = 0;                      // 0: the figure's own
  std::int64_t most_tokens = 0;      // 0: no limit
  std::uint64_t seed = 0;            // of the partition and of what mechanisms draw
  train::FineTuneOptions fine_tune;  // of members
  train::FineTuneOptions non_private;  // of the one model on all text
  PrivateModelOptions private_models;
};

// The figures' names: those of perplexities, then that of extraction (SubMix, Figure 6).
std::vector<std::string> FigureNames();

// Makes figures one after another; ensembles are kept in the output directory and shared between
// them. An interrupted one goes on. One thread at a time.
class FigureReproduction {
 public:
  // `name`, one of FigureNames() or "all", is looked at before anything is made. Errors: kNotFound
  // for another name; those of reading models and texts.
  static base::StatusOr<std::unique_ptr<FigureReproduction>> Create(FigureRequest request,
                                                                    const std::string& name);

  // Empty of the extraction figure.
  std::string TitleOf(const std::string& name) const;
  // Errors: those of trainings and of eval::RunPerplexityStudy and RunCodeExperiment. Requires:
  // one of FigureNames().
  base::StatusOr<eval::FigurePage> Make(const std::string& name);

 private:
  // What members, or the non-private model, are a function of.
  struct Recipe {
    train::FineTuneOptions fine_tune;
    std::string hyper_parameters;  // a line each
    std::string digest;            // over them, the text, the public model and the partition key
  };

  explicit FigureReproduction(FigureRequest request) : request_(std::move(request)) {}

  std::string File(const std::string& name) const;
  base::Status Prepare();
  void SetSize(const model::DecoderConfig& config);
  base::StatusOr<std::string> SourcesOf(const std::string& corpus) const;
  base::Status SetRecipes();
  static Recipe RecipeOf(const train::FineTuneOptions& fine_tune, const std::string& sources);
  void SetSource();
  base::StatusOr<std::string> Train(const eval::EnsembleShape& shape, const std::string& corpus,
                                    const Recipe& recipe, const std::string& prefix);
  train::FineTuneOptions CodeFineTune(int sentences) const;
  base::StatusOr<eval::FigurePage> MakeExtractionFigure();
  base::StatusOr<std::string> DecodingExamples();
  std::string Adapters() const;
  std::string FigureName(const std::string& name) const;
  eval::Provenance ProvenanceOf(const std::string& name) const;

  const FigureRequest request_;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
  std::string corpus_;
  Recipe members_;
  Recipe non_private_;
  PrivateModelRecipe private_models_;
  eval::StudySize size_;
  eval::ModelSource source_;
  std::set<std::string> trained_;  // directories
};

}  // namespace submix::workbench
