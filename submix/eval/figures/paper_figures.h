// The papers' figures and tables as studies: SubMix (Ginart et al. 2022), PMixED and
// AdaPMixED (Flemings et al. 2024), DP decoding (Majmudar et al. 2022); and where we stand, the
// share of the non-private improvement that each mechanism keeps, by the number of parts, at part
// level and as promises to users. Beside the paper's own mechanism each carries sound ones at the
// same privacy cost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/eval/figures/perplexity_study.h"

namespace submix::eval {

// How much of a figure is made. The papers' is the default.
struct StudySize {
  int runs = 0;                                      // 0: the paper's, or 4
  std::int64_t divide_tokens = 1;                    // every number of tokens is divided by this
  std::int64_t most_tokens = std::int64_t{1} << 40;  // more become these
  int most_parts = 1 << 20;                          // larger ensembles become this large
  int every_nth = 1;                                 // of the values on an axis
  std::vector<int> private_epochs = {1, 10};         // of DP-SGD; none: without its curves
  // A text's tokens, for DP decoding: its paper takes the mean, a guarantee the most.
  double mean_text_tokens = 512;
  double most_text_tokens = 512;
  int vocab_size = 0;  // of the public model; for DP decoding
};

// The names that MakePerplexityStudy knows.
std::vector<std::string> PerplexityStudyNames();

// Errors: kNotFound, listing the names.
base::StatusOr<PerplexityStudy> MakePerplexityStudy(const std::string& name, const StudySize& size);

}  // namespace submix::eval
