// The pieces of JSON as expressions. Text as compact as `json.dumps(…, separators=(",", ":"),
// ensure_ascii=False)` writes it, and one spelling for every value: what a model cannot choose
// costs nothing.
#pragma once

#include "submix/shape/expression.h"

namespace submix::shape {

// Objects and arrays within each other in what no schema describes.
inline constexpr int kJsonDepth = 4;

// `least` to `most` characters, with quotes; of control characters those that JSON has letters for.
Expression JsonString(int least = 0, int most = kUnbounded);
// -999999999999999 to 999999999999999, which every reader takes exactly.
Expression JsonInteger();
// At most 15 digits before and after the point, and two of an exponent.
Expression JsonNumber();
Expression JsonBoolean();
Expression JsonNull();
// Requires: least and most as for Repeat.
Expression JsonArray(Expression item, int least = 0, int most = kUnbounded);
// `key` and `value` are written as JSON.
Expression JsonMember(Expression key, Expression value);
Expression JsonObject(Expression members);
// Any object, any array, any value, with `depth` objects and arrays within each other at most.
Expression AnyJsonObject(int depth = kJsonDepth);
Expression AnyJsonArray(int depth = kJsonDepth);
Expression AnyJsonValue(int depth = kJsonDepth);

}  // namespace submix::shape
