// What the demo measured, as a table for people and as summary.json for machines.
#pragma once

#include <cstdint>
#include <string>

#include "submix/base/status.h"
#include "submix/eval/attacks/extraction.h"
#include "submix/eval/measuring/evaluation.h"

namespace submix::apps {

struct DemoReport {
  eval::EvaluationResult evaluation;
  std::int64_t queries = 0;
  int parts = 0;
  int plant_repetitions = 0;
  eval::ExtractionResult extraction_non_private;
  eval::ExtractionResult extraction_private;
  double private_tokens_per_second = 0;
};

// Perplexities and speed, one line a model.
void PrintPerplexityTable(const DemoReport& report);

// Errors: those of writing a file.
base::Status WriteSummary(const DemoReport& report, const std::string& path);

}  // namespace submix::apps
