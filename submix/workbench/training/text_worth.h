// What models learn from texts: each is read by a model of its own, by one recipe, and what they
// know of real text that nobody read is measured.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/corpus/user_records.h"
#include "submix/ensemble/opened_ensemble.h"
#include "submix/ensemble/predictor.h"
#include "submix/eval/attacks/attack_input.h"
#include "submix/eval/measuring/heldout.h"
#include "submix/eval/measuring/text_comparison.h"
#include "submix/tokenizer/tokenizer.h"
#include "submix/train/recipes/precision.h"
#include "submix/workbench/models/model_options.h"

namespace submix::workbench {

// One that a model is fine-tuned on, as documents' tokens.
struct TrainingText {
  std::string name;
  eval::TextSample tokens;
};

// As many tokens of each.
struct WorthTexts {
  std::vector<TrainingText> training;  // the real text is the first; a control the last
  eval::HeldoutBlocks heldout;
  std::int64_t tokens = 0;  // of each text: those of the smallest
};

struct WorthRequest {
  std::vector<std::string> synthetic;  // files of documents
  corpus::CorpusFile corpus;           // the real text, divided as the ensemble was
  std::string heldout;      // other real text; empty: the users held out from the ensemble
  std::string models;       // directory of the fine-tuned models, to make or to go on with
  bool has_control = true;  // text that the public model writes by itself (public_text.h)
  train::Precision precision = train::Precision::kFloat32;  // of training
  ModelOptions predictor;
};

// Makes request.models for a control. Errors: those of reading and of WritePublicText;
// kFailedPrecondition if no user of the corpus was read by the ensemble, or none was held out.
base::StatusOr<WorthTexts> LoadWorthTexts(const WorthRequest& request,
                                          const ensemble::OpenedEnsemble& ensemble,
                                          const tokenizer::Tokenizer& tokenizer);

// The public model of the ensemble and, in the order of the texts, models that are fine-tuned on
// them by the recipe that is recommended for so many tokens; each lies in a directory that is named
// after all that it is made of. An interrupted call goes on. Shows a progress bar. Errors: those of
// training.
base::StatusOr<std::unique_ptr<ensemble::Predictor>> FineTuneOn(
    const WorthTexts& texts, const WorthRequest& request, const ensemble::OpenedEnsemble& ensemble,
    const tokenizer::Tokenizer& tokenizer);

// [1 + members], the mean over the codes of their exposure by each model's likelihoods, in bits.
// Shows a progress bar. Errors: those of eval::MeasureExposure.
base::StatusOr<std::vector<double>> MeanExposures(const std::vector<eval::PlantedCode>& codes,
                                                  const tokenizer::Tokenizer& tokenizer,
                                                  ensemble::Predictor& predictor);

}  // namespace submix::workbench
