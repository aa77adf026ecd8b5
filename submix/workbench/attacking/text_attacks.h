// Attacks on texts: each by all laws of the models that are attacked, under a fresh budget, so that
// all of it is spent on that text.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "submix/base/status.h"
#include "submix/eval/attacks/attack_input.h"
#include "submix/eval/attacks/exposure.h"
#include "submix/eval/attacks/targeted.h"
#include "submix/workbench/attacking/attack_target.h"

namespace submix::workbench {

// Called after each text (exposure: each code that is scored).
using Advance = std::function<void()>;

struct ExtractedCodes {
  std::int64_t codes = 0;
  std::int64_t extracted = 0;  // in at least one attempt
  std::int64_t attempts = 0;
  std::int64_t hits = 0;
};

// So many completions of each code's prompt, sampled or greedy. Errors: those of eval::Extract.
base::StatusOr<ExtractedCodes> ExtractCodes(const std::vector<eval::PlantedCode>& codes,
                                            int attempts, bool greedy, std::uint64_t seed,
                                            const AttackedModels& models, const AttackedLaw& law,
                                            const Advance& advance);

// [models.laws], of the code with this number. Errors: those of eval::MeasureExposure.
base::StatusOr<std::vector<eval::Exposure>> ExposeCode(
    const eval::PlantedCode& code, std::uint64_t number, const eval::ExposureOptions& options,
    std::uint64_t seed, const AttackedModels& models, const Advance& advance);

// The best of so many guesses an example. Errors: those of eval::GuessSuffix.
base::StatusOr<eval::TargetedSummary> GuessSuffixes(
    const std::vector<eval::TargetedExample>& examples, int guesses, std::uint64_t seed,
    const AttackedModels& models, const AttackedLaw& law, const Advance& advance);

}  // namespace submix::workbench
