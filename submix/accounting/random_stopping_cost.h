// Random stopping as the SubMix paper prices it (Proposition C.3; C.4 of its first version): a stop
// before answer tau, tau uniform on {1 … C B}, turns answers of varying number into B answers of
// which the later ones may be public.
//
// Part (1), the price epsilon + log(C B), is not proven: the proof takes every number of answers up
// to B to have positive probability, but the protocol may stop by itself before tau. A protocol
// that always stops at 1 against one that always stops at 4 has infinite divergence. If nothing but
// tau stops it, the announcement is independent of the data and costs nothing (privacy.md on
// stopping).
#pragma once

#include <cstdint>

namespace submix::accounting {

struct RandomStoppingSettings {
  std::int64_t answers = 1000;    // B
  double expansion = 1;           // C > 1/2; C B is rounded to an integer
  double private_perplexity = 1;  // of the answers before the stop
  double public_perplexity = 1;   // of those after it
};

// epsilon + log(C B): for reproducing the paper only.
double RandomStoppingEpsilonAsPublished(double epsilon, const RandomStoppingSettings& settings);

// The expected perplexity over all B answers, exactly: the share of answers given after the stop is
// (B + 1) / (2 C B) for C >= 1.
double RandomStoppingPerplexity(const RandomStoppingSettings& settings);

// The same with the paper's share 1 / (2 C).
double RandomStoppingPerplexityAsPublished(const RandomStoppingSettings& settings);

}  // namespace submix::accounting
