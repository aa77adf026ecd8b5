// How answers are drawn: flags that `generate` and `synthesize` share.
#pragma once

#include "submix/apps/flags.h"
#include "submix/engine/request.h"

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

// "stop" or "length", as OpenAI's API says it.
inline const char* FinishText(engine::AnswerEnd end) {
  return end == engine::AnswerEnd::kStop ? "stop" : "length";
}

}  // namespace submix::apps
