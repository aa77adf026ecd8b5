#include "submix/shape/json_grammar.h"

#include <utility>

#include "submix/shape/characters.h"

namespace submix::shape {
namespace {

Expression Digits(int least, int most) { return Repeat(Utf8({{'0', '9'}}), least, most); }

// From 1 on, with at most 15 digits.
Expression Positive() { return Concat({Utf8({{'1', '9'}}), Digits(0, 14)}); }

}  // namespace

Expression JsonString(int least, int most) {
  const CharacterSet written = CharactersOf({{'\b', '\n'}, {'\f', '\r'}, {' ', kLastCharacter}});
  return Concat({Text("\""), Repeat(JsonCharacter(written), least, most), Text("\"")});
}

Expression JsonInteger() { return AnyOf({Text("0"), Concat({Optional(Text("-")), Positive()})}); }

Expression JsonNumber() {
  const Expression sign = Optional(AnyOf({Text("-"), Text("+")}));
  return Concat({Optional(Text("-")), AnyOf({Text("0"), Positive()}),
                 Optional(Concat({Text("."), Digits(1, 15)})),
                 Optional(Concat({AnyOf({Text("e"), Text("E")}), sign, Digits(1, 2)}))});
}

Expression JsonBoolean() { return AnyOf({Text("true"), Text("false")}); }

Expression JsonNull() { return Text("null"); }

Expression JsonArray(Expression item, int least, int most) {
  return Concat({Text("["), Repeat(std::move(item), least, most, ","), Text("]")});
}

Expression JsonMember(Expression key, Expression value) {
  return Concat({std::move(key), Text(":"), std::move(value)});
}

Expression JsonObject(Expression members) {
  return Concat({Text("{"), std::move(members), Text("}")});
}

Expression AnyJsonObject(int depth) {
  return JsonObject(Repeat(JsonMember(JsonString(), AnyJsonValue(depth - 1)), 0, kUnbounded, ","));
}

Expression AnyJsonArray(int depth) { return JsonArray(AnyJsonValue(depth - 1)); }

Expression AnyJsonValue(int depth) {
  std::vector<Expression> values = {JsonString(), JsonNumber(), JsonBoolean(), JsonNull()};
  if (depth > 0) {
    values.push_back(AnyJsonObject(depth));
    values.push_back(AnyJsonArray(depth));
  }
  return AnyOf(std::move(values));
}

}  // namespace submix::shape
