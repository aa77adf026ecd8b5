// The seed papers' figures and tables as experiments: SubMix (Ginart et al. 2022), PMixED and
// AdaPMixED (Flemings et al. 2024), DP decoding (Majmudar et al. 2022). Beside the paper's own
// mechanism each carries sound ones at the same privacy cost.
#pragma once

#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/eval/figures/curve_maker.h"
#include "submix/eval/figures/experiment.h"

namespace submix::eval {

// The names that MakeExperiment knows.
const std::vector<std::string>& ExperimentNames();

// Errors: kNotFound, listing the names.
base::StatusOr<Experiment> MakeExperiment(const std::string& name, const ExperimentSize& size);

}  // namespace submix::eval
