#include "submix/jinja/operators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "submix/base/json_object.h"
#include "submix/jinja/builtins.h"
#include "submix/jinja/python_text.h"

namespace submix::jinja {
namespace {

Value TypeFailure(Rendering& rendering, std::string_view what, const Value& a, const Value& b) {
  for (const Value& each : {a, b}) {
    if (each.Is(ValueKind::kUndefined)) return FailUndefined(rendering, each);
  }
  return rendering.Fail("no " + base::Quoted(what) + " of " + std::string(TypeName(a)) + " and " +
                        std::string(TypeName(b)));
}

Value Concatenated(Rendering& rendering, const Text& a, const Text& b) {
  rendering.Charge(2 * (a.size() + b.size()));
  if (rendering.failed()) return {};
  Text both = a;
  both.Append(b);
  return rendering.Make(std::move(both));
}

Value Repeated(Rendering& rendering, const Value& value, std::int64_t times) {
  const std::size_t count = times < 0 ? 0 : static_cast<std::size_t>(times);
  const std::size_t size = value.Is(ValueKind::kText) ? value.text().size() : value.items().size();
  if (size > 0 && count > kMostWork / size) {
    return rendering.Fail(base::StatusCode::kResourceExhausted, "a repetition is too long");
  }
  rendering.Charge(count * size);
  if (rendering.failed()) return {};
  if (value.Is(ValueKind::kText)) {
    Text all;
    for (std::size_t i = 0; i < count; ++i) all.Append(value.text());
    return rendering.Make(std::move(all));
  }
  rendering.Charge(64 * count * size);
  if (rendering.failed()) return {};
  ValueList all;
  for (std::size_t i = 0; i < count; ++i) {
    all.insert(all.end(), value.items().begin(), value.items().end());
  }
  return value.Is(ValueKind::kList) ? rendering.MakeList(std::move(all))
                                    : rendering.MakeTuple(std::move(all));
}

Value IntegerPower(Rendering& rendering, std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  if (base == 0 || base == 1) return Value::Integer(exponent == 0 ? 1 : base);
  if (base == -1) return Value::Integer(exponent % 2 == 0 ? 1 : -1);
  for (std::int64_t i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(result, base, &result)) {
      return rendering.Fail("a number is too large");
    }
  }
  return Value::Integer(result);
}

Value OperateOnIntegers(Rendering& rendering, std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflows = false;
  if (op == "+") {
    overflows = __builtin_add_overflow(a, b, &result);
  } else if (op == "-") {
    overflows = __builtin_sub_overflow(a, b, &result);
  } else if (op == "*") {
    overflows = __builtin_mul_overflow(a, b, &result);
  } else if (op == "**") {
    if (b < 0) return Value::Float(std::pow(static_cast<double>(a), static_cast<double>(b)));
    return IntegerPower(rendering, a, b);
  } else if (b == 0) {
    return rendering.Fail("division by zero");
  } else if (op == "/") {
    return Value::Float(static_cast<double>(a) / static_cast<double>(b));
  } else if (b == -1) {  // the one quotient that may overflow
    if (op == "%") return Value::Integer(0);
    overflows = __builtin_sub_overflow(0, a, &result);
  } else {
    // Rounded down, and a remainder of the divisor's sign.
    const bool rounds = a % b != 0 && (a < 0) != (b < 0);
    result = op == "//" ? a / b - (rounds ? 1 : 0) : a % b + (rounds ? b : 0);
  }
  return overflows ? rendering.Fail("a number is too large") : Value::Integer(result);
}

Value OperateOnFloats(Rendering& rendering, std::string_view op, double a, double b) {
  if (op == "+") return Value::Float(a + b);
  if (op == "-") return Value::Float(a - b);
  if (op == "*") return Value::Float(a * b);
  if (op == "**") return Value::Float(std::pow(a, b));
  if (b == 0) return rendering.Fail("division by zero");
  if (op == "/") return Value::Float(a / b);
  double remainder = std::fmod(a, b);
  if (remainder != 0 && (remainder < 0) != (b < 0)) remainder += b;
  if (op == "%") return Value::Float(remainder == 0 ? std::copysign(0.0, b) : remainder);
  return Value::Float(std::round((a - remainder) / b));
}

// The item at Python's index; nothing if there is none.
std::optional<std::size_t> Place(std::int64_t index, std::size_t size) {
  const auto signed_size = static_cast<std::int64_t>(size);
  if (index < -signed_size || index >= signed_size) return std::nullopt;
  return static_cast<std::size_t>(index < 0 ? index + signed_size : index);
}

// Python's slice.indices.
struct Range {
  std::int64_t begin = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};
std::optional<Range> IndicesOf(Rendering& rendering, std::int64_t size, const Value& begin,
                               const Value& end, const Value& step) {
  for (const Value& each : {begin, end, step}) {
    if (each.Is(ValueKind::kNone) || each.IsInteger()) continue;
    if (each.Is(ValueKind::kUndefined)) {
      FailUndefined(rendering, each);
    } else {
      rendering.Fail("slices need integers, not " + std::string(TypeName(each)));
    }
    return std::nullopt;
  }
  static constexpr std::int64_t kFarthest = std::int64_t{1} << 40;
  const auto integer = [](const Value& value, std::int64_t otherwise) {
    return value.Is(ValueKind::kNone) ? otherwise
                                      : std::clamp(value.integer(), -kFarthest, kFarthest);
  };
  Range range{.step = integer(step, 1)};
  if (range.step == 0) {
    rendering.Fail("a slice's step cannot be zero");
    return std::nullopt;
  }
  const bool forward = range.step > 0;
  const std::int64_t least = forward ? 0 : -1;
  const std::int64_t most = forward ? size : size - 1;
  const auto bound = [&](const Value& value, std::int64_t otherwise) {
    if (value.Is(ValueKind::kNone)) return otherwise;
    const std::int64_t index = integer(value, 0);
    return std::clamp(index < 0 ? index + size : index, least, most);
  };
  range.begin = bound(begin, forward ? 0 : size - 1);
  const std::int64_t stop = bound(end, forward ? size : -1);
  const std::int64_t distance = forward ? stop - range.begin : range.begin - stop;
  const std::int64_t stride = forward ? range.step : -range.step;
  range.count = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  return range;
}

Value LoopAttribute(Rendering& rendering, const Loop& loop, const Text& name) {
  const auto size = static_cast<std::int64_t>(loop.items.size());
  const auto index = static_cast<std::int64_t>(loop.index);
  const std::string& which = name.bytes();
  if (which == "index") return Value::Integer(index + 1);
  if (which == "index0") return Value::Integer(index);
  if (which == "revindex") return Value::Integer(size - index);
  if (which == "revindex0") return Value::Integer(size - index - 1);
  if (which == "first") return Value::Boolean(index == 0);
  if (which == "last") return Value::Boolean(index + 1 == size);
  if (which == "length") return Value::Integer(size);
  if (which == "depth") return Value::Integer(loop.depth);
  if (which == "depth0") return Value::Integer(loop.depth - 1);
  if (which == "previtem" && index > 0) return loop.items[loop.index - 1];
  if (which == "nextitem" && index + 1 < size) return loop.items[loop.index + 1];
  if (which == "changed") return rendering.Refuse("loop.changed is not supported");
  return Value::Undefined(&name);
}

bool AreItemsEqual(Rendering& rendering, const ValueList& a, const ValueList& b) {
  return a.size() == b.size() &&
         std::ranges::equal(a, b, [&rendering](const Value& one, const Value& other) {
           return AreEqual(rendering, one, other);
         });
}

bool AreDictsEqual(Rendering& rendering, const Dict& a, const Dict& b) {
  return a.items.size() == b.items.size() && std::ranges::all_of(a.items, [&](const auto& item) {
           const Value* other = FindKey(rendering, b, item.first);
           return other != nullptr && AreEqual(rendering, item.second, *other);
         });
}

}  // namespace

std::string_view TypeName(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kUndefined:
      return "an undefined value";
    case ValueKind::kNone:
      return "None";
    case ValueKind::kBoolean:
      return "a boolean";
    case ValueKind::kInteger:
      return "an integer";
    case ValueKind::kFloat:
      return "a float";
    case ValueKind::kText:
      return "a string";
    case ValueKind::kList:
      return "a list";
    case ValueKind::kTuple:
      return "a tuple";
    case ValueKind::kDict:
      return "a dict";
    case ValueKind::kNamespace:
      return "a namespace";
    case ValueKind::kFunction:
      return "a function";
    case ValueKind::kLoop:
      break;
  }
  return "a loop";
}

Value FailUndefined(Rendering& rendering, const Value& undefined) {
  const Text* name = undefined.text_or_null();
  return rendering.Fail((name == nullptr ? "a value that is needed" : base::Quoted(name->bytes())) +
                        " is undefined");
}

bool IsTrue(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kUndefined:
    case ValueKind::kNone:
      return false;
    case ValueKind::kBoolean:
    case ValueKind::kInteger:
    case ValueKind::kFloat:
      return value.number() != 0;
    case ValueKind::kText:
      return !value.text().empty();
    case ValueKind::kList:
    case ValueKind::kTuple:
      return !value.items().empty();
    case ValueKind::kDict:
      return !value.dict().items.empty();
    default:
      return true;
  }
}

bool AreEqual(Rendering& rendering, const Value& a, const Value& b) {
  const Rendering::Depth depth(rendering);
  rendering.Charge(1);
  if (rendering.failed()) return false;
  if (a.IsNumber() && b.IsNumber()) {
    return a.IsInteger() && b.IsInteger() ? a.integer() == b.integer() : a.number() == b.number();
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case ValueKind::kUndefined:
    case ValueKind::kNone:
      return true;
    case ValueKind::kText:
      rendering.Charge(a.text().size() == b.text().size() ? a.text().size() : 0);
      return a.bytes() == b.bytes();
    case ValueKind::kList:
    case ValueKind::kTuple:
      return AreItemsEqual(rendering, a.items(), b.items());
    case ValueKind::kDict:
      return AreDictsEqual(rendering, a.dict(), b.dict());
    default:
      return a.SameAs(b);
  }
}

int Compare(Rendering& rendering, const Value& a, const Value& b) {
  const Rendering::Depth depth(rendering);
  rendering.Charge(1);
  if (rendering.failed()) return 0;
  if (a.IsInteger() && b.IsInteger()) {
    return a.integer() < b.integer() ? -1 : a.integer() > b.integer() ? 1 : 0;
  }
  if (a.IsNumber() && b.IsNumber()) {
    return a.number() < b.number() ? -1 : a.number() > b.number() ? 1 : 0;
  }
  if (a.Is(ValueKind::kText) && b.Is(ValueKind::kText)) {
    rendering.Charge(std::min(a.text().size(), b.text().size()));
    return a.bytes().compare(b.bytes());
  }
  if (a.IsItems() && a.kind() == b.kind()) {
    const std::size_t shared = std::min(a.items().size(), b.items().size());
    for (std::size_t i = 0; i < shared && !rendering.failed(); ++i) {
      if (AreEqual(rendering, a.items()[i], b.items()[i])) continue;
      return Compare(rendering, a.items()[i], b.items()[i]);
    }
    return a.items().size() < b.items().size() ? -1 : a.items().size() > b.items().size() ? 1 : 0;
  }
  TypeFailure(rendering, "order", a, b);
  return 0;
}

bool HasItem(Rendering& rendering, const Value& container, const Value& item) {
  switch (container.kind()) {
    case ValueKind::kText:
      if (!item.Is(ValueKind::kText)) {
        TypeFailure(rendering, "in", item, container);
        return false;
      }
      rendering.Charge(container.text().size());
      return FindBytes(container.bytes(), item.bytes(), 0) != std::string::npos;
    case ValueKind::kList:
    case ValueKind::kTuple:
      return std::ranges::any_of(
          container.items(), [&](const Value& each) { return AreEqual(rendering, each, item); });
    case ValueKind::kDict:
      return FindKey(rendering, container.dict(), item) != nullptr;
    case ValueKind::kUndefined:
      return false;
    default:
      rendering.Fail("nothing is in " + std::string(TypeName(container)));
      return false;
  }
}

Value Operate(Rendering& rendering, std::string_view op, const Value& a, const Value& b) {
  if (op == "~") return Concatenated(rendering, Str(rendering, a), Str(rendering, b));
  if (a.IsInteger() && b.IsInteger()) {
    return OperateOnIntegers(rendering, op, a.integer(), b.integer());
  }
  if (a.IsNumber() && b.IsNumber()) {
    return OperateOnFloats(rendering, op, a.number(), b.number());
  }
  if (op == "+" && a.Is(ValueKind::kText) && b.Is(ValueKind::kText)) {
    return Concatenated(rendering, a.text(), b.text());
  }
  if (op == "+" && a.IsItems() && a.kind() == b.kind()) {
    ValueList all = a.items();
    all.insert(all.end(), b.items().begin(), b.items().end());
    return a.Is(ValueKind::kList) ? rendering.MakeList(std::move(all))
                                  : rendering.MakeTuple(std::move(all));
  }
  const auto is_repeatable = [](const Value& v) { return v.Is(ValueKind::kText) || v.IsItems(); };
  if (op == "*" && is_repeatable(a) && b.IsInteger()) return Repeated(rendering, a, b.integer());
  if (op == "*" && is_repeatable(b) && a.IsInteger()) return Repeated(rendering, b, a.integer());
  if (op == "%" && a.Is(ValueKind::kText)) return FormatPercent(rendering, a.text(), b);
  return TypeFailure(rendering, op, a, b);
}

Value Negative(Rendering& rendering, const Value& value) {
  if (value.Is(ValueKind::kFloat)) return Value::Float(-value.number());
  if (value.IsInteger()) return OperateOnIntegers(rendering, "-", 0, value.integer());
  return TypeFailure(rendering, "-", value, value);
}

ValueList Iterate(Rendering& rendering, const Value& value) {
  ValueList items;
  switch (value.kind()) {
    case ValueKind::kUndefined:
      return items;
    case ValueKind::kList:
    case ValueKind::kTuple:
      rendering.Charge(value.items().size());
      return value.items();
    case ValueKind::kDict:
      for (const auto& [key, unused] : value.dict().items) items.push_back(key);
      return items;
    case ValueKind::kText: {
      const Text& text = value.text();
      for (std::size_t i = 0; i < text.size() && !rendering.failed();) {
        const std::size_t size = CodePointAt(text.bytes(), i).size;
        items.push_back(rendering.Make(text.Part(i, i + size)));
        i += size;
      }
      return items;
    }
    default:
      rendering.Fail(std::string(TypeName(value)) + " has no items");
      return items;
  }
}

std::int64_t Length(Rendering& rendering, const Value& value) {
  switch (value.kind()) {
    case ValueKind::kUndefined:
      return 0;
    case ValueKind::kList:
    case ValueKind::kTuple:
      return static_cast<std::int64_t>(value.items().size());
    case ValueKind::kDict:
      return static_cast<std::int64_t>(value.dict().items.size());
    case ValueKind::kText:
      rendering.Charge(value.text().size());
      return static_cast<std::int64_t>(CountCharacters(value.bytes()));
    default:
      rendering.Fail(std::string(TypeName(value)) + " has no length");
      return 0;
  }
}

const Value* FindKey(Rendering& rendering, const Dict& dict, const Value& key) {
  for (const auto& [each, value] : dict.items) {
    if (AreEqual(rendering, each, key)) return &value;
  }
  return nullptr;
}

const Value* FindName(const Dict& dict, std::string_view name) {
  for (const auto& [each, value] : dict.items) {
    if (each.Is(ValueKind::kText) && each.bytes() == name) return &value;
  }
  return nullptr;
}

void SetKey(Rendering& rendering, Dict& dict, const Value& key, const Value& value) {
  for (auto& [each, old] : dict.items) {
    if (!AreEqual(rendering, each, key)) continue;
    old = value;
    return;
  }
  rendering.Charge(128);
  dict.items.emplace_back(key, value);
}

Value GetItem(Rendering& rendering, const Value& value, const Value& key) {
  if (value.Is(ValueKind::kUndefined)) return FailUndefined(rendering, value);
  if (value.Is(ValueKind::kDict)) {
    if (const Value* found = FindKey(rendering, value.dict(), key)) return *found;
  } else if (value.IsItems() && key.IsInteger()) {
    const auto place = Place(key.integer(), value.items().size());
    return place ? value.items()[*place] : Value();
  } else if (value.Is(ValueKind::kText) && key.IsInteger()) {
    const std::vector<std::size_t> starts = CharacterStarts(value.bytes());
    rendering.Charge(8 * starts.size());
    const auto place = Place(key.integer(), starts.size() - 1);
    return place ? rendering.Make(value.text().Part(starts[*place], starts[*place + 1])) : Value();
  }
  return key.Is(ValueKind::kText) ? GetAttribute(rendering, value, key.text()) : Value();
}

Value GetAttribute(Rendering& rendering, const Value& value, const Text& name) {
  if (value.Is(ValueKind::kUndefined)) return FailUndefined(rendering, value);
  if (value.Is(ValueKind::kNamespace)) {
    const Value* found = FindName(value.dict(), name.bytes());
    return found == nullptr ? Value::Undefined(&name) : *found;
  }
  if (const Function* method = FindMethod(value, name.bytes())) {
    Function bound = *method;
    bound.self = value;
    return rendering.MakeFunction(bound);
  }
  if (IsForbiddenMethod(value, name.bytes())) {
    return rendering.Fail("the sandbox forbids " + base::Quoted(name.bytes()) + " of " +
                          std::string(TypeName(value)));
  }
  if (value.Is(ValueKind::kLoop)) return LoopAttribute(rendering, value.loop(), name);
  if (value.Is(ValueKind::kDict)) {
    if (const Value* found = FindName(value.dict(), name.bytes())) return *found;
  }
  return Value::Undefined(&name);
}

Value Slice(Rendering& rendering, const Value& value, const Value& begin, const Value& end,
            const Value& step) {
  if (value.Is(ValueKind::kUndefined)) return FailUndefined(rendering, value);
  if (!value.Is(ValueKind::kText) && !value.IsItems()) {
    return rendering.Fail(std::string(TypeName(value)) + " has no slices");
  }
  const bool is_text = value.Is(ValueKind::kText);
  const std::vector<std::size_t> starts =
      is_text ? CharacterStarts(value.bytes()) : std::vector<std::size_t>();
  rendering.Charge(8 * starts.size());
  const std::size_t size = is_text ? starts.size() - 1 : value.items().size();
  const auto range = IndicesOf(rendering, static_cast<std::int64_t>(size), begin, end, step);
  if (!range || rendering.failed()) return {};
  if (is_text && range->step == 1) {
    const auto first = static_cast<std::size_t>(range->begin);
    return rendering.Make(
        value.text().Part(starts[first], starts[first + static_cast<std::size_t>(range->count)]));
  }
  Text text;
  ValueList items;
  for (std::int64_t i = 0; i < range->count; ++i) {
    const auto at = static_cast<std::size_t>(range->begin + i * range->step);
    if (is_text) {
      text.Append(value.text().Part(starts[at], starts[at + 1]));
    } else {
      items.push_back(value.items()[at]);
    }
  }
  if (is_text) return rendering.Make(std::move(text));
  return value.Is(ValueKind::kList) ? rendering.MakeList(std::move(items))
                                    : rendering.MakeTuple(std::move(items));
}

}  // namespace submix::jinja
