#include "submix/jinja/python_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>

#include "submix/base/json_object.h"
#include "submix/jinja/operators.h"

namespace submix::jinja {
namespace {

std::string Hex(std::string_view prefix, std::int32_t value, int digits) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%0*x", digits, static_cast<unsigned>(value));
  return std::string(prefix) + text.data();
}

// What is written so far, and whose it is as a whole.
struct Written {
  std::string bytes = {};
  Origin origin = Origin::kTemplate;

  void Of(const Text& text) { origin = std::max(origin, text.Whole()); }
};

class ReprWriter {
 public:
  explicit ReprWriter(Rendering& rendering) : rendering_(rendering) {}

  void Write(const Value& value) {
    const Rendering::Depth depth(rendering_);
    rendering_.Charge(8 + out_.bytes.size() - counted_);
    counted_ = out_.bytes.size();
    if (rendering_.failed()) return;
    switch (value.kind()) {
      case ValueKind::kUndefined:
        out_.bytes += "Undefined";
        break;
      case ValueKind::kNone:
        out_.bytes += "None";
        break;
      case ValueKind::kBoolean:
        out_.bytes += value.boolean() ? "True" : "False";
        break;
      case ValueKind::kInteger:
        out_.bytes += std::to_string(value.integer());
        break;
      case ValueKind::kFloat:
        out_.bytes += FloatText(value.number());
        break;
      case ValueKind::kText:
        WriteText(value.text());
        break;
      case ValueKind::kList:
      case ValueKind::kTuple:
        WriteItems(value);
        break;
      case ValueKind::kDict:
        WriteDict(value.dict());
        break;
      default:
        rendering_.Refuse("writing " + std::string(TypeName(value)) + " is not supported");
    }
  }
  Text Take() { return {out_.bytes, out_.origin}; }

 private:
  void WriteText(const Text& text) {
    out_.Of(text);
    const std::string& bytes = text.bytes();
    const bool double_quotes =
        bytes.find('\'') != std::string::npos && bytes.find('"') == std::string::npos;
    const char quote = double_quotes ? '"' : '\'';
    out_.bytes += quote;
    for (std::size_t i = 0; i < bytes.size();) {
      const CodePoint c = CodePointAt(bytes, i);
      WriteCharacter(c.value, quote, std::string_view(bytes).substr(i, c.size));
      i += c.size;
    }
    out_.bytes += quote;
  }
  void WriteCharacter(std::int32_t c, char quote, std::string_view bytes) {
    if (c == quote || c == '\\') {
      out_.bytes += '\\';
      out_.bytes += bytes;
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out_.bytes += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (IsPrintable(c)) {
      out_.bytes += bytes;
    } else {
      out_.bytes += c < 0x100     ? Hex("\\x", c, 2)
                    : c < 0x10000 ? Hex("\\u", c, 4)
                                  : Hex("\\U", c, 8);
    }
  }

  void WriteItems(const Value& value) {
    const bool is_list = value.Is(ValueKind::kList);
    out_.bytes += is_list ? '[' : '(';
    for (const Value& item : value.items()) {
      if (&item != value.items().data()) out_.bytes += ", ";
      Write(item);
    }
    if (!is_list && value.items().size() == 1) out_.bytes += ',';
    out_.bytes += is_list ? ']' : ')';
  }
  void WriteDict(const Dict& dict) {
    out_.bytes += '{';
    for (const auto& item : dict.items) {
      if (&item != dict.items.data()) out_.bytes += ", ";
      Write(item.first);
      out_.bytes += ": ";
      Write(item.second);
    }
    out_.bytes += '}';
  }

  Rendering& rendering_;
  Written out_;
  std::size_t counted_ = 0;
};

class JsonWriter {
 public:
  JsonWriter(Rendering& rendering, const JsonStyle& style) : rendering_(rendering), style_(style) {}

  void Write(const Value& value, int level) {
    const Rendering::Depth depth(rendering_);
    rendering_.Charge(8 + out_.bytes.size() - counted_);
    counted_ = out_.bytes.size();
    if (rendering_.failed()) return;
    if (value.Is(ValueKind::kText)) {
      WriteText(value.text());
    } else if (value.IsItems()) {
      WriteItems(value.items(), level);
    } else if (value.Is(ValueKind::kDict)) {
      WriteDict(value.dict(), level);
    } else {
      WriteScalar(value);
    }
  }
  Text Take() { return {out_.bytes, out_.origin}; }

 private:
  void WriteScalar(const Value& value) {
    switch (value.kind()) {
      case ValueKind::kNone:
        out_.bytes += "null";
        break;
      case ValueKind::kBoolean:
        out_.bytes += value.boolean() ? "true" : "false";
        break;
      case ValueKind::kInteger:
        out_.bytes += std::to_string(value.integer());
        break;
      case ValueKind::kFloat:
        out_.bytes += std::isnan(value.number())   ? "NaN"
                      : std::isinf(value.number()) ? (value.number() < 0 ? "-Infinity" : "Infinity")
                                                   : FloatText(value.number());
        break;
      default:
        rendering_.Fail(std::string(TypeName(value)) + " cannot be written as JSON");
    }
  }

  void WriteText(const Text& text) {
    out_.Of(text);
    out_.bytes += '"';
    const std::string& bytes = text.bytes();
    for (std::size_t i = 0; i < bytes.size();) {
      const CodePoint c = CodePointAt(bytes, i);
      WriteCharacter(c.value, std::string_view(bytes).substr(i, c.size));
      i += c.size;
    }
    out_.bytes += '"';
  }
  void WriteCharacter(std::int32_t c, std::string_view bytes) {
    constexpr std::string_view kEscaped = "\"\\\n\r\t\b\f";
    constexpr std::string_view kNames = "\"\\nrtbf";
    const std::size_t at = c < 0x80 ? kEscaped.find(static_cast<char>(c)) : std::string_view::npos;
    if (at != std::string_view::npos) {
      out_.bytes += '\\';
      out_.bytes += kNames[at];
    } else if (c >= 0x20 && (c < 0x7f || !style_.ensure_ascii)) {
      out_.bytes += bytes;
    } else if (c < 0x10000) {
      out_.bytes += Hex("\\u", c, 4);
    } else {
      out_.bytes += Hex("\\u", 0xd800 + ((c - 0x10000) >> 10), 4);
      out_.bytes += Hex("\\u", 0xdc00 + ((c - 0x10000) & 0x3ff), 4);
    }
  }

  void BreakLine(int level) {
    if (!style_.has_indent) return;
    out_.bytes += '\n';
    for (int i = 0; i < level; ++i) out_.bytes += style_.indent;
  }
  void WriteItems(const ValueList& items, int level) {
    out_.bytes += '[';
    for (const Value& item : items) {
      if (&item != items.data()) out_.bytes += style_.item_separator;
      BreakLine(level + 1);
      Write(item, level + 1);
    }
    if (!items.empty()) BreakLine(level);
    out_.bytes += ']';
  }
  void WriteDict(const Dict& dict, int level) {
    auto items = dict.items;
    if (style_.sort_keys) {
      std::ranges::stable_sort(items, [this](const auto& a, const auto& b) {
        return Compare(rendering_, a.first, b.first) < 0;
      });
    }
    out_.bytes += '{';
    for (const auto& item : items) {
      if (&item != items.data()) out_.bytes += style_.item_separator;
      BreakLine(level + 1);
      const bool is_text = item.first.Is(ValueKind::kText);
      if (!is_text) out_.bytes += '"';
      if (is_text || item.first.IsNumber() || item.first.Is(ValueKind::kNone)) {
        Write(item.first, level + 1);
      } else {
        rendering_.Fail(std::string(TypeName(item.first)) + " cannot be a key in JSON");
      }
      if (!is_text) out_.bytes += '"';
      out_.bytes += style_.key_separator;
      Write(item.second, level + 1);
    }
    if (!items.empty()) BreakLine(level);
    out_.bytes += '}';
  }

  Rendering& rendering_;
  const JsonStyle& style_;
  Written out_;
  std::size_t counted_ = 0;
};

// --- "…" % arguments

// "%(name)-05.2f"
struct Conversion {
  std::string name = {};
  bool is_left = false;
  bool has_zeros = false;
  int width = 0;
  int precision = -1;
  char type = ' ';
};

// Reads what follows "%", up to the type. False if there is none.
bool ReadConversion(std::string_view& rest, Conversion& conversion) {
  if (rest.starts_with('(')) {
    const std::size_t end = rest.find(')');
    if (end == std::string_view::npos) return false;
    conversion.name = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  }
  for (; !rest.empty() && (rest[0] == '-' || rest[0] == '0'); rest.remove_prefix(1)) {
    (rest[0] == '-' ? conversion.is_left : conversion.has_zeros) = true;
  }
  const auto number = [&rest](int& value) {
    const auto end = std::from_chars(rest.data(), rest.data() + rest.size(), value).ptr;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return value <= 1000;
  };
  if (!number(conversion.width)) return false;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    conversion.precision = 0;
    if (!number(conversion.precision)) return false;
  }
  if (rest.empty()) return false;
  conversion.type = rest.front();
  rest.remove_prefix(1);
  return true;
}

Text Converted(Rendering& rendering, const Conversion& conversion, const Value& value) {
  switch (conversion.type) {
    case 's':
    case 'r': {
      Text text = conversion.type == 's' ? Str(rendering, value) : Repr(rendering, value);
      const std::vector<std::size_t> starts = CharacterStarts(text.bytes());
      const auto most = static_cast<std::size_t>(std::max(conversion.precision, 0));
      return conversion.precision >= 0 && most < starts.size() ? text.Part(0, starts[most]) : text;
    }
    case 'd':
    case 'i':
    case 'x':
      if (!value.IsInteger() && !(conversion.type != 'x' && value.Is(ValueKind::kFloat) &&
                                  std::abs(value.number()) < 1e15)) {
        rendering.Fail("%" + std::string(1, conversion.type) + " needs an integer");
        return {};
      }
      if (conversion.type == 'x' && value.integer() >= 0) {
        std::array<char, 24> hex{};
        const auto end =
            std::to_chars(hex.data(), hex.data() + hex.size(), value.integer(), 16).ptr;
        return {std::string_view(hex.data(), end), Origin::kTemplate};
      }
      return {std::to_string(value.IsInteger() ? value.integer()
                                               : static_cast<std::int64_t>(value.number())),
              Origin::kTemplate};
    case 'f': {
      if (!value.IsNumber() || !(std::abs(value.number()) < 1e15)) break;
      std::array<char, 1100> text{};
      const int precision = conversion.precision < 0 ? 6 : conversion.precision;
      std::snprintf(text.data(), text.size(), "%.*f", precision, value.number());
      return {text.data(), Origin::kTemplate};
    }
    default:
      break;
  }
  rendering.Refuse("formatting " + std::string(TypeName(value)) + " by %" +
                   base::Printable(std::string(1, conversion.type)) + " is not supported");
  return {};
}

Text Padded(const Text& text, const Conversion& conversion) {
  const auto width = static_cast<std::size_t>(conversion.width);
  const std::size_t size = CountCharacters(text.bytes());
  if (size >= width) return text;
  const bool is_number = conversion.type != 's' && conversion.type != 'r';
  const bool zeros = conversion.has_zeros && is_number && !conversion.is_left;
  const std::string padding(width - size, zeros ? '0' : ' ');
  const std::size_t sign = zeros && text.bytes().starts_with('-') ? 1 : 0;
  Text out = conversion.is_left ? text : text.Part(0, sign);
  out.Append(padding, Origin::kTemplate);
  if (!conversion.is_left) out.Append(text.From(sign));
  return out;
}

}  // namespace

std::string FloatText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 40> buffer{};
  const char* const end = std::to_chars(buffer.data(), buffer.data() + buffer.size(),
                                        std::abs(value), std::chars_format::scientific)
                              .ptr;
  const std::string_view text(buffer.data(), end);
  const std::size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), end, exponent);
  std::string digits(text.substr(0, e));
  std::erase(digits, '.');
  const std::string sign = std::signbit(value) ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    std::string mantissa = digits.substr(0, 1);
    if (digits.size() > 1) mantissa += "." + digits.substr(1);
    const std::string power = std::to_string(std::abs(exponent));
    return sign + mantissa + "e" + (exponent < 0 ? "-" : "+") + (power.size() < 2 ? "0" : "") +
           power;
  }
  if (exponent < 0) {
    return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  }
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() < whole + 1) digits.append(whole + 1 - digits.size(), '0');
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

Text Str(Rendering& rendering, const Value& value) {
  if (value.Is(ValueKind::kText)) return value.text();
  if (value.Is(ValueKind::kUndefined)) return {};
  return Repr(rendering, value);
}

Text Repr(Rendering& rendering, const Value& value) {
  ReprWriter writer(rendering);
  writer.Write(value);
  return writer.Take();
}

Text Json(Rendering& rendering, const Value& value, const JsonStyle& style) {
  JsonWriter writer(rendering, style);
  writer.Write(value, 0);
  return writer.Take();
}

Value FormatPercent(Rendering& rendering, const Text& format, const Value& arguments) {
  const ValueList values =
      arguments.Is(ValueKind::kTuple) ? arguments.items() : ValueList{arguments};
  std::size_t next = 0;
  Text out;
  const std::string_view bytes = format.bytes();
  std::size_t at = 0;
  while (!rendering.failed()) {
    const std::size_t percent = std::min(bytes.find('%', at), bytes.size());
    out.Append(format.Part(at, percent));
    if (percent == bytes.size()) break;
    std::string_view rest = bytes.substr(percent + 1);
    Conversion conversion;
    if (!ReadConversion(rest, conversion)) return rendering.Fail("the format is not complete");
    at = bytes.size() - rest.size();
    if (conversion.type == '%') {
      out.Append("%", format.origin(percent));
      continue;
    }
    const Value* value = nullptr;
    if (!conversion.name.empty()) {
      value =
          arguments.Is(ValueKind::kDict) ? FindName(arguments.dict(), conversion.name) : nullptr;
    } else if (next < values.size()) {
      value = &values[next++];
    }
    if (value == nullptr) return rendering.Fail("the format needs more values than there are");
    const Text converted = Padded(Converted(rendering, conversion, *value), conversion);
    rendering.Charge(converted.size());
    out.Append(converted);
  }
  if (next < values.size() && !arguments.Is(ValueKind::kDict)) {
    return rendering.Fail("the format does not use all of its values");
  }
  return rendering.Make(std::move(out));
}

Value FormatBraces(Rendering& rendering, const Text& format, Arguments& arguments) {
  const ValueList positional = arguments.TakePositional();
  const auto named = arguments.TakeNamed();
  std::size_t next = 0;
  Text out;
  const std::string_view bytes = format.bytes();
  for (std::size_t i = 0; i < bytes.size() && !rendering.failed(); ++i) {
    const char c = bytes[i];
    if (c != '{' && c != '}') {
      out.Append(format.Part(i, i + 1));
      continue;
    }
    if (i + 1 < bytes.size() && bytes[i + 1] == c) {
      out.Append(format.Part(i, i + 1));
      ++i;
      continue;
    }
    const std::size_t end = bytes.find('}', i);
    if (c == '}' || end == std::string_view::npos) return rendering.Fail("a brace has no partner");
    const std::string_view field = bytes.substr(i + 1, end - i - 1);
    if (field.find_first_of("!:.[{") != std::string_view::npos) {
      return rendering.Refuse("format() with more than names and numbers is not supported");
    }
    std::size_t index = 0;
    const bool is_number =
        std::from_chars(field.data(), field.data() + field.size(), index).ec == std::errc();
    const auto found = std::ranges::find(named, field, [](const auto& each) { return each.first; });
    if (field.empty()) index = next++;
    const bool by_place = field.empty() || is_number;
    if (by_place ? index >= positional.size() : found == named.end()) {
      return rendering.Fail("format() has no value for " + base::Quoted(field));
    }
    const Text written = Str(rendering, by_place ? positional[index] : found->second);
    rendering.Charge(2 * written.size());
    out.Append(written);
    i = end;
  }
  return rendering.Make(std::move(out));
}

}  // namespace submix::jinja
