// What a measurement comes to, in sentences: what was tried, how often it succeeded, and what the
// promise allows.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "submix/eval/pages/measurement.h"

namespace submix::eval {

enum class VerdictTone {
  kHeld,       // nothing was found, or no more than the promise allows
  kNotJudged,  // something was found of which no bound is known, or nothing is promised
  // More than the promise allows was found, or the clock told something: not by one test's chance
  // alone, but what commands call "surely", "REFUTED", "exceeded" or seen.
  kBroken,
};

struct Verdict {
  std::string sentence;
  VerdictTone tone = VerdictTone::kNotJudged;
};

// What was measured, as a page lists it.
struct MeasuredKind {
  std::string_view kind;  // Measurement::kind
  std::string_view heading;
};
// Every kind that there is, in the order of the page.
std::span<const MeasuredKind> MeasuredKinds();

// One for every promise that was put to the test, in the order of the rows; one for all of what
// has no promise. None for a kind that is unknown, and for rows that lack what their kind says.
std::vector<Verdict> VerdictsOf(const Measurement& measurement);

}  // namespace submix::eval
