// The mean of the parts' integer laws, whoever of them takes part: h = sum_i w_i / (k W), with
// w_i = w_0 for a part that sits out (Theorem 4).
#pragma once

#include <cstdint>
#include <vector>

#include "submix/base/for_each.h"
#include "submix/mechanism/mechanism.h"
#include "submix/mechanism/quantise.h"

namespace submix::mechanism {

// How one part's integers follow from its pmf: w_i = w_0 + floor(scale * direction), except on the
// top token, which gets what rounding down leaves.
struct PartShift {
  PartDirection direction;
  double scale = 0;  // 0: the part sits out, with the same work as any other
  std::int64_t top_shift = 0;
};

// Keeps no rows of integers: once it is known who paid they are computed anew, by the function that
// was charged for.
class MeanProposal final : public Proposal {
 public:
  // Requires: a charge and a shift for each of base's parts, directions made with `base`.
  // `for_each`, which outlives the proposal, divides the tokens.
  MeanProposal(base::ReleaseId release_id, std::vector<accounting::FixedNats> charges,
               PublicWeights base, std::vector<PartShift> shifts, const base::ForEach& for_each);

  PrivateMixture Mix(const std::vector<bool>& paid, base::RandomSource& random) && override;

 private:
  PublicWeights base_;
  std::vector<PartShift> shifts_;  // [K]
  const base::ForEach& for_each_;
};

}  // namespace submix::mechanism
