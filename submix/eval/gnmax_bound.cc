#include "submix/eval/gnmax_bound.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace submix::eval {
namespace {

// The likeliest token of a part: of the mean of its members, as the mechanism counts it.
std::size_t VoteOf(const mechanism::PartPredictions& predictions, int part) {
  std::size_t best = 0;
  double most = -1;
  for (std::size_t x = 0; x < predictions.support_size(); ++x) {
    double sum = 0;
    for (int half = 0; half < predictions.halves; ++half) sum += predictions.member(part, half)[x];
    if (sum > most) {
      most = sum;
      best = x;
    }
  }
  return best;
}

}  // namespace

double GnmaxProbabilityBound(const mechanism::PartPredictions& predictions, std::size_t true_index,
                             double noise_scale) {
  std::vector<int> votes(predictions.support_size(), 0);
  for (int part = 0; part < predictions.num_parts; ++part) ++votes[VoteOf(predictions, part)];
  const int own = votes[true_index];
  const auto as_many = std::count_if(votes.begin(), votes.end(), [own](int n) { return n >= own; });
  votes[true_index] = -1;
  const int rival = *std::max_element(votes.begin(), votes.end());
  const double beats_rival = std::erfc((rival - own) / (2 * noise_scale)) / 2;
  return std::min(1 / static_cast<double>(as_many), beats_rival);
}

}  // namespace submix::eval
