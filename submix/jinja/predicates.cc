// What may stand behind "is", and in select() and its like.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "submix/base/json_object.h"
#include "submix/jinja/builtins.h"
#include "submix/jinja/operators.h"
#include "submix/jinja/python_text.h"

namespace submix::jinja {
namespace {

template <ValueKind... kKinds>
Value IsOneOf(Rendering& /*rendering*/, const Value& self, Arguments& /*arguments*/) {
  return Value::Boolean((self.Is(kKinds) || ...));
}
Value IsDefined(Rendering& /*rendering*/, const Value& self, Arguments& /*arguments*/) {
  return Value::Boolean(!self.Is(ValueKind::kUndefined));
}
template <bool kWhich>
Value IsThis(Rendering& /*rendering*/, const Value& self, Arguments& /*arguments*/) {
  return Value::Boolean(self.Is(ValueKind::kBoolean) && self.boolean() == kWhich);
}
template <bool kUpper>
Value IsWhollyCased(Rendering& rendering, const Value& self, Arguments& /*arguments*/) {
  const Text text = Str(rendering, self);
  bool is_cased = false;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = CodePointAt(text.bytes(), i);
    if (kUpper ? IsLower(c.value) : IsUpper(c.value)) return Value::Boolean(false);
    is_cased = is_cased || IsLower(c.value) || IsUpper(c.value);
    i += c.size;
  }
  return Value::Boolean(is_cased);
}

Value Remainder(Rendering& rendering, const Value& self, const Value& divisor) {
  return Operate(rendering, "%", self, divisor);
}
template <int kWanted>
Value HasRemainderOfTwo(Rendering& rendering, const Value& self, Arguments& /*arguments*/) {
  const Value remainder = Remainder(rendering, self, Value::Integer(2));
  return Value::Boolean(AreEqual(rendering, remainder, Value::Integer(kWanted)));
}
Value IsDivisible(Rendering& rendering, const Value& self, Arguments& arguments) {
  const Value remainder = Remainder(rendering, self, arguments.TakeOr("num", Value()));
  return Value::Boolean(AreEqual(rendering, remainder, Value::Integer(0)));
}

Value IsIn(Rendering& rendering, const Value& self, Arguments& arguments) {
  return Value::Boolean(HasItem(rendering, arguments.TakeOr("seq", Value()), self));
}
template <bool kWanted>
Value IsEqual(Rendering& rendering, const Value& self, Arguments& arguments) {
  return Value::Boolean(AreEqual(rendering, self, arguments.TakeOr("other", Value())) == kWanted);
}
// `kSign` times the order is at least `kLeast`.
template <int kSign, int kLeast>
Value IsOrdered(Rendering& rendering, const Value& self, Arguments& arguments) {
  const int order = Compare(rendering, self, arguments.TakeOr("other", Value()));
  const int sign = order < 0 ? -1 : order > 0 ? 1 : 0;
  return Value::Boolean(kSign * sign >= kLeast);
}
Value IsSame(Rendering& rendering, const Value& self, Arguments& arguments) {
  const Value other = arguments.TakeOr("other", Value());
  if (self.kind() != other.kind()) return Value::Boolean(false);
  const bool is_plain = self.IsNumber() || self.Is(ValueKind::kNone) || self.Is(ValueKind::kText);
  return Value::Boolean(is_plain ? AreEqual(rendering, self, other) : self.SameAs(other));
}

Value IsFilter(Rendering& /*rendering*/, const Value& self, Arguments& /*arguments*/) {
  return Value::Boolean(self.Is(ValueKind::kText) && FindFilter(self.bytes()) != nullptr);
}
Value IsTest(Rendering& /*rendering*/, const Value& self, Arguments& /*arguments*/) {
  return Value::Boolean(self.Is(ValueKind::kText) && FindTest(self.bytes()) != nullptr);
}

struct Predicate {
  std::string_view name;
  Builtin builtin;
};

// What is undefined may be gone through, counted and called, as Python sees it: the call fails.
constexpr std::array<Predicate, 38> kPredicates = {{
    {"defined", IsDefined},
    {"undefined", IsOneOf<ValueKind::kUndefined>},
    {"none", IsOneOf<ValueKind::kNone>},
    {"boolean", IsOneOf<ValueKind::kBoolean>},
    {"true", IsThis<true>},
    {"false", IsThis<false>},
    {"integer", IsOneOf<ValueKind::kInteger>},
    {"float", IsOneOf<ValueKind::kFloat>},
    {"number", IsOneOf<ValueKind::kInteger, ValueKind::kFloat, ValueKind::kBoolean>},
    {"string", IsOneOf<ValueKind::kText>},
    {"mapping", IsOneOf<ValueKind::kDict>},
    {"sequence", IsOneOf<ValueKind::kText, ValueKind::kList, ValueKind::kTuple, ValueKind::kDict,
                         ValueKind::kUndefined>},
    {"iterable", IsOneOf<ValueKind::kText, ValueKind::kList, ValueKind::kTuple, ValueKind::kDict,
                         ValueKind::kUndefined, ValueKind::kLoop>},
    {"callable", IsOneOf<ValueKind::kFunction, ValueKind::kUndefined, ValueKind::kLoop>},
    {"upper", IsWhollyCased<true>},
    {"lower", IsWhollyCased<false>},
    {"odd", HasRemainderOfTwo<1>},
    {"even", HasRemainderOfTwo<0>},
    {"divisibleby", IsDivisible},
    {"in", IsIn},
    {"sameas", IsSame},
    {"filter", IsFilter},
    {"test", IsTest},
    {"==", IsEqual<true>},
    {"eq", IsEqual<true>},
    {"equalto", IsEqual<true>},
    {"!=", IsEqual<false>},
    {"ne", IsEqual<false>},
    {"<", IsOrdered<-1, 1>},
    {"lt", IsOrdered<-1, 1>},
    {"lessthan", IsOrdered<-1, 1>},
    {"<=", IsOrdered<-1, 0>},
    {"le", IsOrdered<-1, 0>},
    {">", IsOrdered<1, 1>},
    {"gt", IsOrdered<1, 1>},
    {"greaterthan", IsOrdered<1, 1>},
    {">=", IsOrdered<1, 0>},
    {"ge", IsOrdered<1, 0>},
}};

}  // namespace

Builtin FindTest(std::string_view name) {
  const auto* found = std::ranges::find(kPredicates, name, &Predicate::name);
  return found == kPredicates.end() ? nullptr : found->builtin;
}

}  // namespace submix::jinja
