#include "submix/eval/measuring/gnmax_bound.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "submix/mechanism/baselines/part_law.h"

namespace submix::eval {

double GnmaxProbabilityBound(const mechanism::PartPredictions& predictions, std::size_t true_index,
                             double noise_scale) {
  std::vector<int> votes(predictions.support_size(), 0);
  for (int part = 0; part < predictions.num_parts; ++part) {
    ++votes[mechanism::PartPmf(predictions, part).TopToken()];
  }
  const int own = votes[true_index];
  const auto as_many = std::count_if(votes.begin(), votes.end(), [own](int n) { return n >= own; });
  votes[true_index] = -1;
  const int rival = *std::max_element(votes.begin(), votes.end());
  const double beats_rival = std::erfc((rival - own) / (2 * noise_scale)) / 2;
  return std::min(1 / static_cast<double>(as_many), beats_rival);
}

}  // namespace submix::eval
