// The seed papers' figures and tables as experiments: SubMix (Ginart et al. 2022), PMixED and
// AdaPMixED (Flemings et al. 2024), DP decoding (Majmudar et al. 2022). Beside the paper's own
// mechanism each carries sound ones at the same privacy cost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/eval/experiment.h"

namespace submix::eval {

// How much of a figure is made. The papers' is the default.
struct ExperimentSize {
  int runs = 0;                     // 0: the paper's, or 4
  std::int64_t divide_queries = 1;  // every number of answers is divided by this
  int most_parts = 1 << 20;         // larger ensembles become this large
  int every_nth = 1;                // of the values on an axis
  // A text's tokens, for DP decoding: its paper takes the mean, a guarantee the most.
  double mean_text_tokens = 512;
  double most_text_tokens = 512;
  int vocab_size = 0;  // of the public model; for DP decoding
};

// The names that MakeExperiment knows.
const std::vector<std::string>& ExperimentNames();

// Errors: kNotFound, listing the names.
base::StatusOr<Experiment> MakeExperiment(const std::string& name, const ExperimentSize& size);

}  // namespace submix::eval
