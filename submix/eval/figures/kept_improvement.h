// Where we stand: the share of the non-private improvement that each mechanism keeps, by the number
// of parts, at part level and as promises to users.
#pragma once

#include "submix/eval/figures/curve_maker.h"
#include "submix/eval/figures/experiment.h"

namespace submix::eval {

Experiment MakeKeptImprovement(const CurveMaker& make);

}  // namespace submix::eval
