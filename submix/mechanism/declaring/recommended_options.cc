#include "submix/mechanism/declaring/recommended_options.h"

#include <cmath>

namespace submix::mechanism {

divergence::RenyiOrder RecommendedOrder() { return *divergence::RenyiOrder::Create(8); }

void Recommend(int num_parts, std::int64_t tokens, MechanismOptions& options) {
  // dclip's window grows as parts / sqrt(tokens). Where it is wide, members that know a part of
  // the text are taken at their word, and stretching their log ratios overshoots.
  const bool is_wide = num_parts >= 2 * std::sqrt(static_cast<double>(tokens));
  options.max_mixing_weight = is_wide ? 0.5 : 0.4;
  if (options.name != "dclip" && options.name != "filtered-dclip") return;
  options.clip = is_wide ? ClipOptions{.stretch = 1.3, .centre = 0.7}
                         : ClipOptions{.stretch = 1.5, .centre = 0.5};
}

}  // namespace submix::mechanism
