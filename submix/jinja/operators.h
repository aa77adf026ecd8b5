// What Python's operators do with values. What cannot be done fails in the rendering.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "submix/jinja/rendering.h"
#include "submix/jinja/value.h"

namespace submix::jinja {

// "'str' object"'s type, for messages.
std::string_view TypeName(const Value& value);

// "… is undefined", by its name if it has one.
Value FailUndefined(Rendering& rendering, const Value& undefined);

bool IsTrue(const Value& value);
bool AreEqual(Rendering& rendering, const Value& a, const Value& b);
// Less than zero, zero or more, as a is less than b, the same, or more; fails where Python has no
// order.
int Compare(Rendering& rendering, const Value& a, const Value& b);
bool HasItem(Rendering& rendering, const Value& container, const Value& item);
// "+", "-", "*", "/", "//", "%", "**", "~".
Value Operate(Rendering& rendering, std::string_view op, const Value& a, const Value& b);
Value Negative(Rendering& rendering, const Value& value);

// What a `for` goes through: items, keys, characters; nothing of what is undefined.
ValueList Iterate(Rendering& rendering, const Value& value);
std::int64_t Length(Rendering& rendering, const Value& value);

const Value* FindKey(Rendering& rendering, const Dict& dict, const Value& key);
// What a dict has under a name of ours; null if nothing.
const Value* FindName(const Dict& dict, std::string_view name);
void SetKey(Rendering& rendering, Dict& dict, const Value& key, const Value& value);
// value[key], value.name: undefined where there is none. An undefined value has none: that fails.
Value GetItem(Rendering& rendering, const Value& value, const Value& key);
Value GetAttribute(Rendering& rendering, const Value& value, const Text& name);
// value[begin:end:step]; what is not given is None.
Value Slice(Rendering& rendering, const Value& value, const Value& begin, const Value& end,
            const Value& step);

}  // namespace submix::jinja
