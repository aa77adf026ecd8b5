#include "submix/accounting/calculators/extraction_bound.h"

#include <algorithm>
#include <cmath>

namespace submix::accounting {
namespace {

// A probability bound; NaN says nothing.
double AtMostOne(double bound) { return bound < 1 ? bound : 1; }

}  // namespace

double FanoExtractionBound(double nats, double num_candidates) {
  if (!(nats >= 0) || !(num_candidates >= 2)) return 1;
  return AtMostOne((nats + std::log(2.0)) / std::log(num_candidates));
}

double RenyiExtractionBound(const RdpBound& bound, double num_candidates) {
  const double order = bound.order.value();
  if (!(order > 1) || !(bound.rdp >= 0) || !(num_candidates >= 1)) return 1;
  return AtMostOne(std::exp((1 - 1 / order) * (bound.rdp - std::log(num_candidates))));
}

}  // namespace submix::accounting
