// The filters, tests, methods and functions that templates may call, by name. What is not here is
// refused by its name where it is called.
#pragma once

#include <string_view>

#include "submix/jinja/rendering.h"
#include "submix/jinja/value.h"

namespace submix::jinja {

// Null if there is none of that name. `self` is the value that is filtered or tested; a test gives
// a boolean.
Builtin FindFilter(std::string_view name);
Builtin FindTest(std::string_view name);
// Of those, what goes through items.
Builtin FindItemFilter(std::string_view name);
// range, namespace, dict, raise_exception, strftime_now.
const Function* FindFunction(std::string_view name);
// Of a string, a dict, a list, a tuple or a loop.
const Function* FindMethod(const Value& value, std::string_view name);
// The sandbox has it, and lets nobody call it: it would change the value.
bool IsForbiddenMethod(const Value& value, std::string_view name);

// Calls it; fails if it left arguments. `name` is for messages.
Value CallBuiltin(Rendering& rendering, std::string_view name, Builtin builtin, const Value& self,
                  Arguments& arguments);

// --- What filters and methods of strings share

Text Stripped(Rendering& rendering, const Text& text, const Value& characters, bool left,
              bool right);
// What comes into a text of a message, at places that the message chose, is the message's.
Value Replaced(Rendering& rendering, const Text& text, const Text& from, const Text& to,
               std::int64_t count);
Value Joined(Rendering& rendering, const Text& separator, const ValueList& items);
Text Capitalized(const Text& text);

}  // namespace submix::jinja
