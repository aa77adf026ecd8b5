#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "submix/base/json_object.h"
#include "submix/jinja/builtins.h"
#include "submix/jinja/operators.h"
#include "submix/jinja/python_text.h"

namespace submix::jinja {
namespace {

// --- Strings

// The next argument, a string; fails and is empty if it is none.
Text TakeText(Rendering& rendering, Arguments& arguments, std::string_view name) {
  const Value value = arguments.TakeOr(name, Value());
  if (value.Is(ValueKind::kText)) return value.text();
  rendering.Fail("a string is needed, not " + std::string(TypeName(value)));
  return {};
}

std::int64_t TakeInteger(Rendering& rendering, Arguments& arguments, std::string_view name,
                         std::int64_t otherwise) {
  const auto value = arguments.Take(name);
  if (!value) return otherwise;
  if (value->IsInteger()) return value->integer();
  rendering.Fail("an integer is needed, not " + std::string(TypeName(*value)));
  return otherwise;
}

template <bool kLeft, bool kRight>
Value Strip(Rendering& rendering, const Value& self, Arguments& arguments) {
  const Value characters = arguments.TakeOr("chars", Value::None());
  return rendering.Make(Stripped(rendering, self.text(), characters, kLeft, kRight));
}

// Where separators begin and end, from the left or the right, at most `most` of them.
using Places = std::vector<std::pair<std::size_t, std::size_t>>;
Places PlacesOf(std::string_view text, std::string_view separator, std::size_t most,
                bool from_right) {
  Places places;
  if (!from_right) {
    for (std::size_t at = 0; places.size() < most;) {
      at = FindBytes(text, separator, at);
      if (at == std::string_view::npos) break;
      places.emplace_back(at, at + separator.size());
      at += separator.size();
    }
    return places;
  }
  for (std::size_t i = text.size(); places.size() < most && i >= separator.size();) {
    if (text.substr(i - separator.size(), separator.size()) == separator) {
      places.emplace_back(i - separator.size(), i);
      i -= separator.size();
    } else {
      --i;
    }
  }
  std::ranges::reverse(places);
  return places;
}

// From the right, what is sought is compared at every place.
template <bool kFromRight>
std::size_t SearchWork(const Text& text, const Value& wanted) {
  const std::size_t size = kFromRight && wanted.Is(ValueKind::kText) ? wanted.text().size() : 0;
  return text.size() * (1 + size / 16);
}

// Runs of white space.
Places SpacesOf(std::string_view text, std::size_t most, bool from_right) {
  Places runs;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = CodePointAt(text, i);
    if (IsSpace(c.value)) {
      if (!runs.empty() && runs.back().second == i) {
        runs.back().second += c.size;
      } else {
        runs.emplace_back(i, i + c.size);
      }
    }
    i += c.size;
  }
  if (runs.size() > most) {
    const auto excess = static_cast<std::ptrdiff_t>(runs.size() - most);
    from_right ? runs.erase(runs.begin(), runs.begin() + excess)
               : runs.erase(runs.end() - excess, runs.end());
  }
  return runs;
}

template <bool kFromRight>
Value Split(Rendering& rendering, const Value& self, Arguments& arguments) {
  const Value separator = arguments.TakeOr("sep", Value::None());
  const std::int64_t limit = TakeInteger(rendering, arguments, "maxsplit", -1);
  const auto most =
      limit < 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(limit);
  const bool by_space = separator.Is(ValueKind::kNone);
  if (!by_space && (!separator.Is(ValueKind::kText) || separator.text().empty())) {
    return rendering.Fail("split() needs a separator that is not empty");
  }
  // What is left where the splits stop keeps the white space at its other end.
  const Text text =
      by_space ? Stripped(rendering, self.text(), separator, !kFromRight, kFromRight) : self.text();
  rendering.Charge(SearchWork<kFromRight>(text, separator));
  if (rendering.failed()) return {};
  Places places = by_space ? SpacesOf(text.bytes(), most, kFromRight)
                           : PlacesOf(text.bytes(), separator.bytes(), most, kFromRight);
  rendering.Charge(64 * places.size());
  places.emplace_back(text.size(), text.size());
  ValueList parts;
  std::size_t begin = 0;
  for (const auto& [from, to] : places) {
    if (rendering.failed()) return {};
    if (!by_space || from > begin) parts.push_back(rendering.Make(text.Part(begin, from)));
    begin = to;
  }
  return rendering.MakeList(std::move(parts));
}

bool EndsLine(std::int32_t c) {
  return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

Value SplitLines(Rendering& rendering, const Value& self, Arguments& arguments) {
  const bool keeps = IsTrue(arguments.TakeOr("keepends", Value::Boolean(false)));
  const Text& text = self.text();
  ValueList lines;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size() && !rendering.failed();) {
    const CodePoint c = CodePointAt(text.bytes(), i);
    std::size_t next = i + c.size;
    if (EndsLine(c.value)) {
      if (c.value == '\r' && next < text.size() && text.bytes()[next] == '\n') ++next;
      lines.push_back(rendering.Make(text.Part(begin, keeps ? next : i)));
      begin = next;
    }
    i = next;
  }
  if (begin < text.size()) lines.push_back(rendering.Make(text.From(begin)));
  return rendering.MakeList(std::move(lines));
}

// startswith, endswith: one of a tuple will do.
template <bool kAtEnd>
Value HasAffix(Rendering& rendering, const Value& self, Arguments& arguments) {
  const Value affix = arguments.TakeOr("prefix", Value());
  const ValueList choices = affix.Is(ValueKind::kTuple) ? affix.items() : ValueList{affix};
  bool has = false;
  for (const Value& each : choices) {
    if (!each.Is(ValueKind::kText)) {
      return rendering.Fail("a string is needed, not " + std::string(TypeName(each)));
    }
    has = has ||
          (kAtEnd ? self.bytes().ends_with(each.bytes()) : self.bytes().starts_with(each.bytes()));
  }
  return Value::Boolean(has);
}

template <bool kAtEnd>
Value WithoutAffix(Rendering& rendering, const Value& self, Arguments& arguments) {
  const Text affix = TakeText(rendering, arguments, "prefix");
  const Text& text = self.text();
  if (kAtEnd) {
    return text.bytes().ends_with(affix.bytes())
               ? rendering.Make(text.Part(0, text.size() - affix.size()))
               : self;
  }
  return text.bytes().starts_with(affix.bytes()) ? rendering.Make(text.From(affix.size())) : self;
}

template <Case kCase>
Value ChangeCase(Rendering& rendering, const Value& self, Arguments& /*arguments*/) {
  return rendering.Make(InCase(self.text(), kCase));
}

Value Title(Rendering& rendering, const Value& self, Arguments& /*arguments*/) {
  const Text& text = self.text();
  Text out;
  bool in_word = false;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = CodePointAt(text.bytes(), i);
    AppendInCase(text, i, in_word ? Case::kLower : Case::kTitle, out);
    in_word = IsLetter(c.value);
    i += c.size;
  }
  return rendering.Make(std::move(out));
}

Value Capitalize(Rendering& rendering, const Value& self, Arguments& /*arguments*/) {
  return rendering.Make(Capitalized(self.text()));
}

Value Replace(Rendering& rendering, const Value& self, Arguments& arguments) {
  const Text from = TakeText(rendering, arguments, "old");
  const Text to = TakeText(rendering, arguments, "new");
  const std::int64_t count = TakeInteger(rendering, arguments, "count", -1);
  return Replaced(rendering, self.text(), from, to, count);
}

Value Join(Rendering& rendering, const Value& self, Arguments& arguments) {
  const ValueList items = Iterate(rendering, arguments.TakeOr("iterable", Value()));
  for (const Value& item : items) {
    if (item.Is(ValueKind::kText)) continue;
    return rendering.Fail("join() needs strings, not " + std::string(TypeName(item)));
  }
  return Joined(rendering, self.text(), items);
}

// find, rfind, index, rindex: in characters.
template <bool kLast, bool kMustBe>
Value Find(Rendering& rendering, const Value& self, Arguments& arguments) {
  const Text wanted = TakeText(rendering, arguments, "sub");
  const std::string_view bytes = self.bytes();
  rendering.Charge(SearchWork<kLast>(self.text(), Value(&wanted)));
  if (rendering.failed()) return {};
  const Places places = PlacesOf(bytes, wanted.bytes(), wanted.empty() ? 0 : 1, kLast);
  if (!places.empty() || wanted.empty()) {
    const std::size_t at = places.empty() ? (kLast ? bytes.size() : 0) : places[0].first;
    return Value::Integer(static_cast<std::int64_t>(CountCharacters(bytes.substr(0, at))));
  }
  return kMustBe ? rendering.Fail("index() did not find its string") : Value::Integer(-1);
}

Value Count(Rendering& rendering, const Value& self, Arguments& arguments) {
  const Text wanted = TakeText(rendering, arguments, "sub");
  rendering.Charge(self.text().size());
  if (wanted.empty()) return Value::Integer(Length(rendering, self) + 1);
  const Places places = PlacesOf(self.bytes(), wanted.bytes(), self.text().size(), false);
  return Value::Integer(std::ssize(places));
}

Value Format(Rendering& rendering, const Value& self, Arguments& arguments) {
  return FormatBraces(rendering, self.text(), arguments);
}

// isdigit and its like: all characters are, and there is one.
template <typename... Classes>
bool AllAre(std::string_view text, Classes... is) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = CodePointAt(text, i);
    if (!(is(c.value) || ...)) return false;
    i += c.size;
  }
  return !text.empty();
}
Value IsDigits(Rendering& /*rendering*/, const Value& self, Arguments& /*arguments*/) {
  return Value::Boolean(AllAre(self.bytes(), IsDigit));
}
Value IsLetters(Rendering& /*rendering*/, const Value& self, Arguments& /*arguments*/) {
  return Value::Boolean(AllAre(self.bytes(), IsLetter));
}
Value IsLettersOrDigits(Rendering& /*rendering*/, const Value& self, Arguments& /*arguments*/) {
  return Value::Boolean(AllAre(self.bytes(), IsLetter, IsDigit));
}
Value IsSpaces(Rendering& /*rendering*/, const Value& self, Arguments& /*arguments*/) {
  return Value::Boolean(AllAre(self.bytes(), IsSpace));
}
template <Case kCase>
Value IsInCase(Rendering& rendering, const Value& self, Arguments& arguments) {
  return FindTest(kCase == Case::kUpper ? "upper" : "lower")(rendering, self, arguments);
}

// --- Dicts, lists, loops

Value Items(Rendering& rendering, const Value& self, Arguments& /*arguments*/) {
  ValueList items;
  for (const auto& [key, value] : self.dict().items) {
    if (rendering.failed()) break;
    items.push_back(rendering.MakeTuple({key, value}));
  }
  return rendering.MakeList(std::move(items));
}
Value Keys(Rendering& rendering, const Value& self, Arguments& /*arguments*/) {
  return rendering.MakeList(Iterate(rendering, self));
}
Value DictValues(Rendering& rendering, const Value& self, Arguments& /*arguments*/) {
  ValueList values;
  for (const auto& item : self.dict().items) values.push_back(item.second);
  return rendering.MakeList(std::move(values));
}
Value Get(Rendering& rendering, const Value& self, Arguments& arguments) {
  const Value key = arguments.TakeOr("", Value());
  const Value otherwise = arguments.TakeOr("", Value::None());
  const Value* found = FindKey(rendering, self.dict(), key);
  return found == nullptr ? otherwise : *found;
}
Value Copy(Rendering& /*rendering*/, const Value& self, Arguments& /*arguments*/) { return self; }

Value ListIndex(Rendering& rendering, const Value& self, Arguments& arguments) {
  const Value wanted = arguments.TakeOr("", Value());
  const auto found = std::ranges::find_if(
      self.items(), [&](const Value& each) { return AreEqual(rendering, each, wanted); });
  if (found == self.items().end()) return rendering.Fail("index() did not find its value");
  return Value::Integer(found - self.items().begin());
}
Value ListCount(Rendering& rendering, const Value& self, Arguments& arguments) {
  const Value wanted = arguments.TakeOr("", Value());
  return Value::Integer(std::ranges::count_if(
      self.items(), [&](const Value& each) { return AreEqual(rendering, each, wanted); }));
}

Value LoopCycle(Rendering& rendering, const Value& self, Arguments& arguments) {
  const ValueList choices = arguments.TakePositional();
  if (choices.empty()) return rendering.Fail("cycle() needs values");
  return choices[self.loop().index % choices.size()];
}

constexpr std::array<Function, 30> kTextMethods = {{
    {"strip", Strip<true, true>},
    {"lstrip", Strip<true, false>},
    {"rstrip", Strip<false, true>},
    {"split", Split<false>},
    {"rsplit", Split<true>},
    {"splitlines", SplitLines},
    {"startswith", HasAffix<false>},
    {"endswith", HasAffix<true>},
    {"removeprefix", WithoutAffix<false>},
    {"removesuffix", WithoutAffix<true>},
    {"upper", ChangeCase<Case::kUpper>},
    {"lower", ChangeCase<Case::kLower>},
    {"title", Title},
    {"capitalize", Capitalize},
    {"replace", Replace},
    {"join", Join},
    {"find", Find<false, false>},
    {"rfind", Find<true, false>},
    {"index", Find<false, true>},
    {"rindex", Find<true, true>},
    {"count", Count},
    {"format", Format},
    {"isdigit", IsDigits},
    {"isdecimal", IsDigits},
    {"isnumeric", IsDigits},
    {"isalpha", IsLetters},
    {"isalnum", IsLettersOrDigits},
    {"isspace", IsSpaces},
    {"isupper", IsInCase<Case::kUpper>},
    {"islower", IsInCase<Case::kLower>},
}};
constexpr std::array<Function, 5> kDictMethods = {
    {{"items", Items}, {"keys", Keys}, {"values", DictValues}, {"get", Get}, {"copy", Copy}}};
constexpr std::array<Function, 3> kListMethods = {
    {{"index", ListIndex}, {"count", ListCount}, {"copy", Copy}}};
constexpr std::array<Function, 1> kLoopMethods = {{{"cycle", LoopCycle}}};

std::span<const Function> MethodsOf(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kText:
      return kTextMethods;
    case ValueKind::kDict:
      return kDictMethods;
    case ValueKind::kList:
    case ValueKind::kTuple:
      return kListMethods;
    case ValueKind::kLoop:
      return kLoopMethods;
    default:
      return {};
  }
}

}  // namespace

const Function* FindMethod(const Value& value, std::string_view name) {
  const auto methods = MethodsOf(value);
  const auto found = std::ranges::find(methods, name, &Function::name);
  return found == methods.end() ? nullptr : &*found;
}

bool IsForbiddenMethod(const Value& value, std::string_view name) {
  constexpr std::array<std::string_view, 5> kOfDicts = {"clear", "pop", "popitem", "setdefault",
                                                        "update"};
  constexpr std::array<std::string_view, 8> kOfLists = {"append", "clear",  "extend",  "insert",
                                                        "pop",    "remove", "reverse", "sort"};
  if (value.Is(ValueKind::kDict)) return std::ranges::find(kOfDicts, name) != kOfDicts.end();
  return value.Is(ValueKind::kList) && std::ranges::find(kOfLists, name) != kOfLists.end();
}

}  // namespace submix::jinja
