// SubMix, Figure 6: everybody's text is one sentence, "My number is: " and a number of their own.
// How often does what is sampled after these words hold somebody's number, over the privacy cost?
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "submix/base/digest.h"
#include "submix/base/status.h"
#include "submix/eval/figures/perplexity_study.h"
#include "submix/eval/pages/figure.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::eval {

struct CodeExperiment {
  std::vector<int> digits = {2, 3, 4, 5};
  int num_parts = 3;  // in pairs: one user, and one number, a half
  // Numbers sampled under one budget; the first for every length, the others for the longest.
  std::vector<int> generations = {100, 10, 1000};
  std::vector<double> epsilons = {0.1, 1, 10, 100, 1000, 8000};  // nats at order 2
};

// The users of one length, so named that the keyed partition puts one into every half.
struct CodeUsers {
  std::vector<std::string> codes;
  std::string jsonl;  // the corpus
};
CodeUsers PlantCodes(int digits, int num_parts, const base::HashKey& key, std::uint64_t seed);

// The ensemble of a corpus.
using CodeTrainer = std::function<base::StatusOr<std::string>(int digits, const std::string& jsonl,
                                                              const EnsembleShape& shape)>;

// A curve for each length and mechanism: the share of what was sampled that is somebody's number; a
// level for the model trained on everybody's sentence. Models are loaded, and numbers sampled, as
// `source` says. Errors: those of `train` and of the source.
base::StatusOr<Figure> RunCodeExperiment(const CodeExperiment& experiment, const base::HashKey& key,
                                         const tokenizer::Tokenizer& tokenizer,
                                         const CodeTrainer& train, const ModelSource& source);

}  // namespace submix::eval
