// How answers are drawn: flags that `generate` and `synthesize` share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "submix/apps/flags.h"
#include "submix/base/file_system.h"
#include "submix/base/status.h"
#include "submix/engine/request.h"
#include "submix/shape/shape.h"

namespace submix::apps {

// `request` must outlive the command.
inline void AddRequestFlags(Flags flags, engine::Request& request) {
  flags.Add("--max-tokens", request.max_tokens, kPositive, "Most tokens to add");
  flags.Add("--temperature", request.sampling.temperature, kPositive,
            "Sharpens (< 1) or flattens (> 1) every model before mixing");
  flags.Add("--top-k", request.sampling.top_k, kNonNegative,
            "Keep the public model's k likeliest tokens; 0 = all");
  flags.Add(
      "--top-k-plus", request.sampling.top_k_plus, kNonNegative,
      "With dclip and filtered-dclip, instead of --top-k: keep every token that members could "
      "bring among the mixture's k likeliest; 0 = off");
  flags.Add("--top-p", request.sampling.top_p, kShare,
            "Keep the public model's likeliest tokens of this mass");
  flags.Add("--stop", request.stop, "End before this text; may be given again")->delimiter('\0');
}

// The shape of the answers, if one is asked for.
struct ShapeFlags {
  std::vector<std::string> choices;
  std::string regex;
  std::string json_schema;  // a file
};

// `shape` must outlive the command.
inline void AddShapeFlags(Flags flags, ShapeFlags& shape) {
  CLI::Option* const choices = flags.Add("--choice", shape.choices, "Answer with one of: a,b,c");
  CLI::Option* const regex =
      flags.Add("--regex", shape.regex, "Answer what this regular expression matches as a whole");
  CLI::Option* const schema = flags.Add("--json-schema", shape.json_schema, kFile,
                                        "Answer in JSON, as the schema in this file says");
  choices->excludes(regex)->excludes(schema);
  regex->excludes(schema);
}

// Errors: those of reading the file.
inline base::StatusOr<std::optional<shape::ShapeRequest>> AskedShape(const ShapeFlags& flags) {
  using Asked = std::optional<shape::ShapeRequest>;
  if (!flags.choices.empty()) return Asked({shape::ShapeKind::kChoice, {}, flags.choices});
  if (!flags.regex.empty()) return Asked({shape::ShapeKind::kRegex, flags.regex});
  if (flags.json_schema.empty()) return Asked();
  SUBMIX_ASSIGN_OR_RETURN(std::string schema, base::ReadFile(flags.json_schema));
  return Asked({shape::ShapeKind::kJsonSchema, std::move(schema)});
}

// "stop" or "length", as OpenAI's API says it.
inline const char* FinishText(engine::AnswerEnd end) {
  return end == engine::AnswerEnd::kStop ? "stop" : "length";
}

}  // namespace submix::apps
