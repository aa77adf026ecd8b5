// How often something happens, from how often it did: exact (Clopper and Pearson) confidence
// bounds on a binomial's probability.
#pragma once

#include <cstdint>

namespace submix::eval {

// `successes` of `trials` independent trials. Requires: 0 <= successes <= trials, trials >= 1.
struct BinomialCount {
  std::int64_t successes = 0;
  std::int64_t trials = 0;
};

// One-sided: whatever the true probability is, the bound is wrong with probability `error` at most.
// Requires: 0 < error < 1.
double LowerBound(const BinomialCount& count, double error);
double UpperBound(const BinomialCount& count, double error);

// Pr[Binomial(trials, probability) >= successes]. Any `successes`; 0 <= probability <= 1.
double BinomialUpperTail(std::int64_t successes, std::int64_t trials, double probability);

}  // namespace submix::eval
