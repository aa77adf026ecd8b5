// A template's tokens as a tree: Jinja's grammar, with what chat templates use of its statements.
#pragma once

#include <string_view>

#include "submix/base/status.h"
#include "submix/jinja/syntax.h"

namespace submix::jinja {

// Requires: well-formed UTF-8. Errors, with the line: kInvalidArgument for what is no template,
// kUnimplemented for what this interpreter does not have, by name.
base::StatusOr<Body> ParseTemplate(std::string_view source);

}  // namespace submix::jinja
