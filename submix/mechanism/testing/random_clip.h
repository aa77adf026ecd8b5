// Clip options for the searches over what dclip and filtered-dclip may be declared with.
#pragma once

#include "submix/base/random.h"
#include "submix/mechanism/mechanism_options.h"
#include "submix/mechanism/testing/simulated_predictions.h"

namespace submix::mechanism {

// The published rule as often as any other.
inline ClipOptions RandomClip(base::RandomSource& random) {
  if (random.NextBelow(2) == 0) return {};
  return {.stretch = 1 + 15 * NextUnit(random), .centre = 2 * NextUnit(random) - 1};
}

}  // namespace submix::mechanism
