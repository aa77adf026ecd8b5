// An experiment as one self-contained HTML page: the figure, its numbers with what each promises,
// the paper's numbers beside ours, how it was made.
#pragma once

#include <string>

#include "submix/eval/figures/experiment.h"

namespace submix::eval {

std::string ProvenanceTable(const Provenance& provenance);

// `svg` is the figure's file; empty: none was drawn. `appendix` is HTML, before how it was made.
std::string ExperimentPage(const Experiment& experiment, const ExperimentResult& result,
                           const std::string& svg, const Provenance& provenance,
                           const std::string& appendix);

}  // namespace submix::eval
