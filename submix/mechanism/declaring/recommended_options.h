// What `submix deploy`, `evaluate` and `demo` declare where the operator says nothing. Functions of
// public numbers alone; no guarantee depends on them.
#pragma once

#include <cstdint>

#include "submix/divergence/renyi_order.h"
#include "submix/mechanism/mechanism_options.h"

namespace submix::mechanism {

// 8: of the orders at which a budget of 2 nats means something for one user it keeps most of the
// improvement (docs/demo.md, "Why order 8").
divergence::RenyiOrder RecommendedOrder();

// Sets the largest mixing weight and, of dclip and filtered-dclip, the window for log ratios of an
// ensemble of so many parts that is asked for so many tokens (docs/results/README.md, "How it was
// made"; docs/decisions/004-largest-mixing-weight.md). Requires: both >= 1.
void Recommend(int num_parts, std::int64_t tokens, MechanismOptions& options);

}  // namespace submix::mechanism
