// JSON schemas, as far as they say which texts are allowed without counting or comparing:
//
//     type (one or a list), properties in their order, required, additionalProperties (false, or
//     the schema of all members of an object without properties), items, minItems, maxItems,
//     minLength, maxLength, pattern (anywhere in the text, or held by ^ and $), enum, const, anyOf,
//     oneOf (as alternatives), allOf of one schema, and $ref to #/$defs or #/definitions that does
//     not come back to itself.
//
// What only describes (title, description, default, examples and the like) is skipped; every other
// keyword is refused by name, since an answer would not heed it. An object has the properties that
// are named, no others; a schema that says nothing is any value of kJsonDepth levels.
#pragma once

#include <cstddef>
#include <string_view>

#include "submix/base/status.h"
#include "submix/shape/expression.h"

namespace submix::shape {

inline constexpr std::size_t kMostSchemaBytes = 32 << 10;

// Errors: kInvalidArgument, naming the keyword and where it stands; for what is no JSON, has more
// than kMostSchemaBytes, or has a key twice.
base::StatusOr<Expression> ReadJsonSchema(std::string_view schema);

}  // namespace submix::shape
