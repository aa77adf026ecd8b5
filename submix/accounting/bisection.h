// Where a condition that holds for small numbers stops holding.
#pragma once

#include <cmath>

namespace submix::accounting {

// The last bracket around the boundary, to the precision of a double: the caller takes the end that
// is safe.
struct Boundary {
  double holds = 0;
  double fails = 0;  // infinity: it never does
};

// `holds(x)` is true from `low` up to some point and false beyond; `high` > low is a first guess,
// doubled while it holds.
template <typename Condition>
Boundary FindBoundary(double low, double high, const Condition& holds) {
  constexpr int kBisections = 200;
  while (std::isfinite(high) && holds(high)) {
    low = high;
    high *= 2;
  }
  for (int i = 0; i < kBisections && std::isfinite(high); ++i) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;  // neighbours
    (holds(middle) ? low : high) = middle;
  }
  return {low, high};
}

}  // namespace submix::accounting
