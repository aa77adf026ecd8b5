// How answers are drawn: flags that `generate` and `synthesize` share.
#pragma once

#include "submix/apps/flags.h"
#include "submix/engine/request.h"

namespace submix::apps {

// --max-tokens, --temperature, --top-k, --top-p and --stop. `request` must outlive the command.
void AddRequestFlags(Flags flags, engine::Request& request);

// "stop" or "length", as OpenAI's API says it.
const char* FinishText(engine::FinishReason reason);

}  // namespace submix::apps
