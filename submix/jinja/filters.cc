#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>

#include "submix/base/json_object.h"
#include "submix/jinja/builtins.h"
#include "submix/jinja/operators.h"
#include "submix/jinja/python_text.h"

namespace submix::jinja {
namespace {

// --- Text: what is no string is written as one first

Value FilterString(Rendering& rendering, const Value& self, Arguments& /*arguments*/) {
  return self.Is(ValueKind::kText) ? self : rendering.Make(Str(rendering, self));
}
Value FilterTrim(Rendering& rendering, const Value& self, Arguments& arguments) {
  const Value characters = arguments.TakeOr("chars", Value::None());
  return rendering.Make(Stripped(rendering, Str(rendering, self), characters, true, true));
}
template <Case kCase>
Value FilterCase(Rendering& rendering, const Value& self, Arguments& /*arguments*/) {
  return rendering.Make(InCase(Str(rendering, self), kCase));
}
Value FilterCapitalize(Rendering& rendering, const Value& self, Arguments& /*arguments*/) {
  return rendering.Make(Capitalized(Str(rendering, self)));
}
// Words begin behind spaces, hyphens and opening brackets: not as str.title().
Value FilterTitle(Rendering& rendering, const Value& self, Arguments& /*arguments*/) {
  const Text text = Str(rendering, self);
  Text out;
  bool in_word = false;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = CodePointAt(text.bytes(), i);
    AppendInCase(text, i, in_word ? Case::kLower : Case::kUpper, out);
    constexpr std::string_view kBefore = "-({[<";
    in_word = !IsSpace(c.value) &&
              (c.size > 1 || kBefore.find(text.bytes()[i]) == std::string_view::npos);
    i += c.size;
  }
  return rendering.Make(std::move(out));
}
Value FilterReplace(Rendering& rendering, const Value& self, Arguments& arguments) {
  const Text from = Str(rendering, arguments.TakeOr("old", Value()));
  const Text to = Str(rendering, arguments.TakeOr("new", Value()));
  const Value count = arguments.TakeOr("count", Value::Integer(-1));
  return Replaced(rendering, Str(rendering, self), from, to,
                  count.IsInteger() ? count.integer() : -1);
}
Value FilterFormat(Rendering& rendering, const Value& self, Arguments& arguments) {
  return FormatPercent(rendering, Str(rendering, self),
                       rendering.MakeTuple(arguments.TakePositional()));
}
Value FilterIndent(Rendering& rendering, const Value& self, Arguments& arguments) {
  const Value width = arguments.TakeOr("width", Value::Integer(4));
  const bool first = IsTrue(arguments.TakeOr("first", Value::Boolean(false)));
  const bool blank = IsTrue(arguments.TakeOr("blank", Value::Boolean(false)));
  if (!width.Is(ValueKind::kText) && !(width.IsInteger() && width.integer() <= 1000)) {
    return rendering.Fail("indent needs a width of at most 1000");
  }
  const auto spaces =
      static_cast<std::size_t>(width.IsInteger() ? std::max(width.integer(), std::int64_t{0}) : 0);
  const Text indentation =
      width.Is(ValueKind::kText) ? width.text() : Text(std::string(spaces, ' '), Origin::kTemplate);
  Text text = Str(rendering, self);
  text.Append("\n", Origin::kTemplate);  // an end of line at the very end stays
  Arguments none({}, {});
  const Value whole(&text);
  const Function* lines_of = FindMethod(whole, "splitlines");
  const Value lines = CallBuiltin(rendering, "splitlines", lines_of->builtin, whole, none);
  Text out;
  for (std::size_t i = 0; !rendering.failed() && i < lines.items().size(); ++i) {
    const Text& line = lines.items()[i].text();
    if (i > 0) out.Append("\n", text.Whole());
    const bool is_indented = i == 0 ? first : blank || !line.empty();
    rendering.Charge(indentation.size());
    if (is_indented) out.Append(indentation);
    out.Append(line);
  }
  return rendering.Make(std::move(out));
}
Value FilterToJson(Rendering& rendering, const Value& self, Arguments& arguments) {
  JsonStyle style;
  style.ensure_ascii = IsTrue(arguments.TakeOr("ensure_ascii", Value::Boolean(false)));
  const Value indent = arguments.TakeOr("indent", Value::None());
  const Value separators = arguments.TakeOr("separators", Value::None());
  style.sort_keys = IsTrue(arguments.TakeOr("sort_keys", Value::Boolean(false)));
  if (indent.Is(ValueKind::kText)) {
    style.has_indent = true;
    style.indent = indent.bytes();
  } else if (indent.IsInteger() && indent.integer() <= 100) {
    style.has_indent = true;
    style.indent.assign(static_cast<std::size_t>(std::max<std::int64_t>(indent.integer(), 0)), ' ');
  } else if (!indent.Is(ValueKind::kNone)) {
    return rendering.Fail("tojson needs an indent of at most 100");
  }
  if (style.has_indent) style.item_separator = ",";
  if (separators.IsItems() && separators.items().size() == 2) {
    style.item_separator = Str(rendering, separators.items()[0]).bytes();
    style.key_separator = Str(rendering, separators.items()[1]).bytes();
  } else if (!separators.Is(ValueKind::kNone)) {
    return rendering.Fail("tojson needs two separators");
  }
  return rendering.Make(Json(rendering, self, style));
}

// --- ValueList

Value FilterItself(Rendering& /*rendering*/, const Value& self, Arguments& /*arguments*/) {
  return self;  // `safe`: nothing is escaped
}
Value FilterDefault(Rendering& rendering, const Value& self, Arguments& arguments) {
  const Value otherwise = arguments.TakeOr("default_value", rendering.MakeName(""));
  const bool if_false = IsTrue(arguments.TakeOr("boolean", Value::Boolean(false)));
  return self.Is(ValueKind::kUndefined) || (if_false && !IsTrue(self)) ? otherwise : self;
}
Value FilterLength(Rendering& rendering, const Value& self, Arguments& /*arguments*/) {
  return Value::Integer(Length(rendering, self));
}

// Python's float(); nothing if `text` is none.
std::optional<double> ParsedFloat(Rendering& rendering, const Text& text) {
  std::string bytes = Stripped(rendering, text, Value::None(), true, true).bytes();
  std::erase(bytes, '_');
  const char* begin = bytes.data() + (bytes.starts_with('+') ? 1 : 0);
  const char* const end = bytes.data() + bytes.size();
  double value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (begin == end || stop != end || error != std::errc()) return std::nullopt;
  return value;
}
Value FilterFloat(Rendering& rendering, const Value& self, Arguments& arguments) {
  const Value otherwise = arguments.TakeOr("default", Value::Float(0));
  if (self.IsNumber()) return Value::Float(self.number());
  if (!self.Is(ValueKind::kText)) return otherwise;
  const auto value = ParsedFloat(rendering, self.text());
  return value ? Value::Float(*value) : otherwise;
}
Value FilterInteger(Rendering& rendering, const Value& self, Arguments& arguments) {
  const Value otherwise = arguments.TakeOr("default", Value::Integer(0));
  const Value base = arguments.TakeOr("base", Value::Integer(10));
  if (!base.IsInteger() || base.integer() != 10) {
    return rendering.Refuse("int of another base than 10 is not supported");
  }
  if (self.IsInteger()) return Value::Integer(self.integer());
  if (self.Is(ValueKind::kText)) {
    std::string bytes = Stripped(rendering, self.text(), Value::None(), true, true).bytes();
    std::erase(bytes, '_');
    const char* begin = bytes.data() + (bytes.starts_with('+') ? 1 : 0);
    const char* const end = bytes.data() + bytes.size();
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (begin != end && stop == end && error == std::errc()) return Value::Integer(value);
  }
  const auto value = self.Is(ValueKind::kFloat)  ? std::optional(self.number())
                     : self.Is(ValueKind::kText) ? ParsedFloat(rendering, self.text())
                                                 : std::nullopt;
  if (!value) return otherwise;
  if (!(std::abs(*value) < 9e18)) return rendering.Fail("a number is too large");
  return Value::Integer(static_cast<std::int64_t>(*value));
}
Value FilterAbs(Rendering& rendering, const Value& self, Arguments& /*arguments*/) {
  if (!self.IsNumber()) return rendering.Fail("abs needs a number");
  return self.number() < 0 ? Negative(rendering, self) : self;
}
Value FilterRound(Rendering& rendering, const Value& self, Arguments& arguments) {
  const Value precision = arguments.TakeOr("precision", Value::Integer(0));
  const std::string method = Str(rendering, arguments.TakeOr("method", Value())).bytes();
  if (!self.IsNumber() || !precision.IsInteger() || precision.integer() < 0 ||
      precision.integer() > 15) {
    return rendering.Fail("round needs a number and a precision of 0 to 15");
  }
  const double value = self.number();
  if (method == "ceil" || method == "floor") {
    const double scale = std::pow(10.0, static_cast<double>(precision.integer()));
    return Value::Float((method == "ceil" ? std::ceil(value * scale) : std::floor(value * scale)) /
                        scale);
  }
  if (!method.empty() && method != "common") return rendering.Fail("round has no such method");
  if (self.IsInteger() || !(std::abs(value) < 1e15)) return self;
  std::array<char, 64> text{};
  const int size =
      std::snprintf(text.data(), text.size(), "%.*f", static_cast<int>(precision.integer()), value);
  double rounded = 0;
  std::from_chars(text.data(), text.data() + size, rounded);
  return Value::Float(rounded);
}

struct NamedFilter {
  std::string_view name;
  Builtin builtin;
};

constexpr std::array<NamedFilter, 19> kFilters = {{
    {"string", FilterString},
    {"trim", FilterTrim},
    {"upper", FilterCase<Case::kUpper>},
    {"lower", FilterCase<Case::kLower>},
    {"capitalize", FilterCapitalize},
    {"title", FilterTitle},
    {"replace", FilterReplace},
    {"format", FilterFormat},
    {"indent", FilterIndent},
    {"tojson", FilterToJson},
    {"safe", FilterItself},
    {"default", FilterDefault},
    {"d", FilterDefault},
    {"length", FilterLength},
    {"count", FilterLength},
    {"float", FilterFloat},
    {"int", FilterInteger},
    {"abs", FilterAbs},
    {"round", FilterRound},
}};

}  // namespace

Builtin FindFilter(std::string_view name) {
  const auto* found = std::ranges::find(kFilters, name, &NamedFilter::name);
  return found == kFilters.end() ? FindItemFilter(name) : found->builtin;
}

// --- What filters and methods of strings share

Text Stripped(Rendering& rendering, const Text& text, const Value& characters, bool left,
              bool right) {
  if (!characters.Is(ValueKind::kNone) && !characters.Is(ValueKind::kText)) {
    rendering.Fail("what is stripped must be a string");
    return {};
  }
  const auto goes = [&characters](const CodePoint& c, std::string_view bytes) {
    return characters.Is(ValueKind::kNone) ? IsSpace(c.value)
                                           : characters.bytes().find(bytes) != std::string::npos;
  };
  const std::string_view bytes = text.bytes();
  rendering.Charge(bytes.size() *
                   (characters.Is(ValueKind::kText) ? 1 + characters.text().size() : 1));
  if (rendering.failed()) return {};
  std::size_t begin = bytes.size();
  std::size_t end = 0;
  for (std::size_t i = 0; i < bytes.size();) {
    const CodePoint c = CodePointAt(bytes, i);
    if (!goes(c, bytes.substr(i, c.size))) {
      begin = std::min(begin, i);
      end = i + c.size;
    }
    i += c.size;
  }
  if (begin > end) return {};
  return text.Part(left ? begin : 0, right ? end : bytes.size());
}

Value Replaced(Rendering& rendering, const Text& text, const Text& from, const Text& to,
               std::int64_t count) {
  const std::string_view bytes = text.bytes();
  rendering.Charge(bytes.size());
  const Text inserted =
      text.HoldsMessage() ? Text(to.bytes(), std::max(text.Whole(), to.Whole())) : to;
  Text out;
  std::size_t at = 0;
  for (std::int64_t i = 0; i != count && !rendering.failed(); ++i) {
    const std::size_t found = FindBytes(bytes, from.bytes(), at);
    if (found == std::string_view::npos) break;
    rendering.Charge(8 + 2 * inserted.size());
    out.Append(text.Part(at, found));
    out.Append(inserted);
    at = found + from.size();
    if (!from.empty()) continue;
    // Before each character, and at the end.
    if (at == bytes.size()) return rendering.Make(std::move(out));
    const std::size_t size = CodePointAt(bytes, at).size;
    out.Append(text.Part(at, at + size));
    at += size;
  }
  out.Append(text.From(at));
  return rendering.Make(std::move(out));
}

Value Joined(Rendering& rendering, const Text& separator, const ValueList& items) {
  Text out;
  for (const Value& item : items) {
    if (rendering.failed()) return {};
    if (&item != items.data()) out.Append(separator);
    const Text text = Str(rendering, item);
    rendering.Charge(2 * (separator.size() + text.size()));
    out.Append(text);
  }
  return rendering.Make(std::move(out));
}

Text Capitalized(const Text& text) {
  Text out;
  for (std::size_t i = 0; i < text.size(); i += CodePointAt(text.bytes(), i).size) {
    AppendInCase(text, i, i == 0 ? Case::kTitle : Case::kLower, out);
  }
  return out;
}

}  // namespace submix::jinja
