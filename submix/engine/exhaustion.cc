#include "submix/engine/exhaustion.h"

#include <string>

namespace submix::engine {

std::string_view ToString(WhenExhausted rule) {
  return rule == WhenExhausted::kRefuse ? "refuse" : "public";
}

base::StatusOr<WhenExhausted> ParseWhenExhausted(std::string_view text) {
  for (const WhenExhausted rule : {WhenExhausted::kPublic, WhenExhausted::kRefuse}) {
    if (text == ToString(rule)) return rule;
  }
  return base::InvalidArgumentError(
      "when the tokens are used up (when exhausted): expected public or refuse, found " +
      std::string(text));
}

}  // namespace submix::engine
