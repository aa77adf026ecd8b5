// What happens when the fixed number of tokens of a deployment is used up: declared in advance,
// the same for everybody, never a function of private data.
#pragma once

#include <string_view>

#include "submix/base/status.h"

namespace submix::engine {

// Only mechanisms whose charge is one public constant have such a number
// (Mechanism::has_constant_charge); with the others parts run out silently, one by one, and nothing
// is ever refused.
enum class WhenExhausted {
  kPublic,  // the public model answers from then on: paid by nobody, against a receipt that says so
  kRefuse,  // requests are refused from then on
};

// "public", "refuse": persistent, they are in deployment.json.
std::string_view ToString(WhenExhausted rule);
// Errors: kInvalidArgument, listing the names.
base::StatusOr<WhenExhausted> ParseWhenExhausted(std::string_view text);

}  // namespace submix::engine
