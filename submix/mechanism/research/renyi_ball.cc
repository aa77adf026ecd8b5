#include "submix/mechanism/research/renyi_ball.h"

#include <span>
#include <vector>

#include "submix/mechanism/quantise.h"
#include "submix/mechanism/research/pair_weight.h"

namespace submix::mechanism {

LawWeights RenyiBallLaw(const BallLaws& laws, int part, const ShiftExcess& kernel, double radius) {
  std::vector<double> pmf;
  if (!laws.PartPmf(part, pmf)) return laws.public_law();
  const std::span<const double> public_pmf = laws.public_pmf();
  const double scale = LargestBallWeight(public_pmf, pmf, kernel, kernel.FromNats(radius));
  for (std::size_t x = 0; x < pmf.size(); ++x) {
    pmf[x] = public_pmf[x] + scale * (pmf[x] - public_pmf[x]);
  }
  LawWeights law(pmf.size());
  QuantiseLaw(pmf, laws.top_token(), law);
  return law;
}

}  // namespace submix::mechanism
