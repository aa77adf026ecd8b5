// Filters that go through the items of a value.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "submix/base/json_object.h"
#include "submix/jinja/builtins.h"
#include "submix/jinja/operators.h"
#include "submix/jinja/python_text.h"

namespace submix::jinja {
namespace {

// "a.b.0" of an item, or the item itself where no attribute is asked for.
Value AttributeOf(Rendering& rendering, Value item, const Value& attribute) {
  if (attribute.IsInteger()) return GetItem(rendering, item, attribute);
  if (!attribute.Is(ValueKind::kText)) return item;
  std::string_view rest = attribute.bytes();
  while (!rendering.failed()) {
    const std::string_view part = rest.substr(0, rest.find('.'));
    int index = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool is_number = error == std::errc() && end == part.data() + part.size();
    item = GetItem(rendering, item, is_number ? Value::Integer(index) : rendering.MakeName(part));
    if (part.size() == rest.size()) break;
    rest.remove_prefix(part.size() + 1);
  }
  return item;
}

Value Lowered(Rendering& rendering, const Value& value) {
  return value.Is(ValueKind::kText) ? rendering.Make(InCase(value.text(), Case::kLower)) : value;
}

Value FilterList(Rendering& rendering, const Value& self, Arguments& /*arguments*/) {
  return rendering.MakeList(Iterate(rendering, self));
}
template <bool kLast>
Value FilterEnd(Rendering& rendering, const Value& self, Arguments& /*arguments*/) {
  if (self.Is(ValueKind::kText)) return GetItem(rendering, self, Value::Integer(kLast ? -1 : 0));
  const ValueList items = Iterate(rendering, self);
  return items.empty() ? Value() : kLast ? items.back() : items.front();
}
Value FilterReverse(Rendering& rendering, const Value& self, Arguments& /*arguments*/) {
  if (self.Is(ValueKind::kText)) {
    return Slice(rendering, self, Value::None(), Value::None(), Value::Integer(-1));
  }
  ValueList items = Iterate(rendering, self);
  std::ranges::reverse(items);
  return rendering.MakeList(std::move(items));
}
Value FilterJoin(Rendering& rendering, const Value& self, Arguments& arguments) {
  const Value separator = arguments.TakeOr("d", Value());
  const Value attribute = arguments.TakeOr("attribute", Value::None());
  ValueList items = Iterate(rendering, self);
  for (Value& item : items) item = AttributeOf(rendering, item, attribute);
  return Joined(rendering, Str(rendering, separator), items);
}
Value FilterItems(Rendering& rendering, const Value& self, Arguments& arguments) {
  if (self.Is(ValueKind::kUndefined)) return rendering.MakeList({});
  if (!self.Is(ValueKind::kDict)) return rendering.Fail("items needs a dict");
  return FindMethod(self, "items")->builtin(rendering, self, arguments);
}

// By a filter's name and its arguments, or an attribute.
Value FilterMap(Rendering& rendering, const Value& self, Arguments& arguments) {
  ValueList items = Iterate(rendering, self);
  const ValueList given = arguments.TakePositional();
  if (given.empty()) {
    const auto attribute = arguments.Take("attribute");
    const Value otherwise = arguments.TakeOr("default", Value());
    if (!attribute) return rendering.Fail("map needs a filter or an attribute");
    for (Value& item : items) {
      item = AttributeOf(rendering, item, *attribute);
      if (item.Is(ValueKind::kUndefined) && !otherwise.Is(ValueKind::kUndefined)) item = otherwise;
    }
    return rendering.MakeList(std::move(items));
  }
  const std::string name = Str(rendering, given.front()).bytes();
  const Builtin filter = FindFilter(name);
  if (filter == nullptr) return rendering.Refuse("no filter " + base::Quoted(name));
  const auto named = arguments.TakeNamed();
  for (Value& item : items) {
    Arguments each(ValueList(given.begin() + 1, given.end()), named);
    item = CallBuiltin(rendering, name, filter, item, each);
  }
  return rendering.MakeList(std::move(items));
}

// select, reject, selectattr, rejectattr.
template <bool kSelects, bool kByAttribute>
Value FilterSelect(Rendering& rendering, const Value& self, Arguments& arguments) {
  const ValueList items = Iterate(rendering, self);
  ValueList given = arguments.TakePositional();
  Value attribute;
  if (kByAttribute) {
    if (given.empty()) return rendering.Fail("an attribute is needed");
    attribute = given.front();
    given.erase(given.begin());
  }
  const std::string name = given.empty() ? "" : Str(rendering, given.front()).bytes();
  const Builtin test = given.empty() ? nullptr : FindTest(name);
  if (!given.empty() && test == nullptr) return rendering.Refuse("no test " + base::Quoted(name));
  ValueList chosen;
  for (const Value& item : items) {
    if (rendering.failed()) return {};
    Value verdict = AttributeOf(rendering, item, attribute);
    if (test != nullptr) {
      Arguments each(ValueList(given.begin() + 1, given.end()), {});
      verdict = CallBuiltin(rendering, name, test, verdict, each);
    }
    if (IsTrue(verdict) == kSelects) chosen.push_back(item);
  }
  return rendering.MakeList(std::move(chosen));
}

// --- Order

// Of each item, what it is compared by.
struct Keyed {
  Value key;
  Value item;
};
// Takes `case_sensitive` and `attribute`.
std::vector<Keyed> KeyedItems(Rendering& rendering, const Value& self, Arguments& arguments) {
  const bool is_sensitive = IsTrue(arguments.TakeOr("case_sensitive", Value::Boolean(false)));
  const Value attribute = arguments.TakeOr("attribute", Value::None());
  if (attribute.Is(ValueKind::kText) && attribute.bytes().find(',') != std::string::npos) {
    rendering.Refuse("sorting by several attributes is not supported");
  }
  std::vector<Keyed> keyed;
  for (const Value& item : Iterate(rendering, self)) {
    const Value key = AttributeOf(rendering, item, attribute);
    keyed.push_back({is_sensitive ? key : Lowered(rendering, key), item});
  }
  return keyed;
}
Value SortedItems(Rendering& rendering, std::vector<Keyed> keyed, bool reverse) {
  std::ranges::stable_sort(keyed, [&rendering, reverse](const Keyed& a, const Keyed& b) {
    return Compare(rendering, reverse ? b.key : a.key, reverse ? a.key : b.key) < 0;
  });
  ValueList items;
  for (const Keyed& each : keyed) items.push_back(each.item);
  return rendering.MakeList(std::move(items));
}
Value FilterSort(Rendering& rendering, const Value& self, Arguments& arguments) {
  const bool reverse = IsTrue(arguments.TakeOr("reverse", Value::Boolean(false)));
  return SortedItems(rendering, KeyedItems(rendering, self, arguments), reverse);
}
Value FilterDictSort(Rendering& rendering, const Value& self, Arguments& arguments) {
  if (!self.Is(ValueKind::kDict)) return rendering.Fail("dictsort needs a dict");
  const bool is_sensitive = IsTrue(arguments.TakeOr("case_sensitive", Value::Boolean(false)));
  const std::string by = Str(rendering, arguments.TakeOr("by", rendering.MakeName("key"))).bytes();
  const bool reverse = IsTrue(arguments.TakeOr("reverse", Value::Boolean(false)));
  std::vector<Keyed> keyed;
  for (const auto& [key, value] : self.dict().items) {
    const Value& sorted_by = by == "value" ? value : key;
    keyed.push_back({is_sensitive ? sorted_by : Lowered(rendering, sorted_by),
                     rendering.MakeTuple({key, value})});
  }
  return SortedItems(rendering, std::move(keyed), reverse);
}
Value FilterUnique(Rendering& rendering, const Value& self, Arguments& arguments) {
  std::vector<Keyed> seen;
  for (const Keyed& each : KeyedItems(rendering, self, arguments)) {
    const bool is_new = std::ranges::none_of(
        seen, [&](const Keyed& other) { return AreEqual(rendering, other.key, each.key); });
    if (is_new) seen.push_back(each);
  }
  ValueList items;
  for (const Keyed& each : seen) items.push_back(each.item);
  return rendering.MakeList(std::move(items));
}
template <bool kMost>
Value FilterExtreme(Rendering& rendering, const Value& self, Arguments& arguments) {
  std::optional<Keyed> found;
  for (const Keyed& each : KeyedItems(rendering, self, arguments)) {
    const int order = found ? Compare(rendering, each.key, found->key) : 0;
    if (!found || (kMost ? order > 0 : order < 0)) found = each;
  }
  return found ? found->item : Value();
}
Value FilterSum(Rendering& rendering, const Value& self, Arguments& arguments) {
  const Value attribute = arguments.TakeOr("attribute", Value::None());
  Value sum = arguments.TakeOr("start", Value::Integer(0));
  for (const Value& item : Iterate(rendering, self)) {
    if (rendering.failed()) break;
    sum = Operate(rendering, "+", sum, AttributeOf(rendering, item, attribute));
  }
  return sum;
}

struct NamedItemFilter {
  std::string_view name;
  Builtin builtin;
};

constexpr std::array<NamedItemFilter, 17> kItemFilters = {{
    {"list", FilterList},
    {"first", FilterEnd<false>},
    {"last", FilterEnd<true>},
    {"reverse", FilterReverse},
    {"join", FilterJoin},
    {"items", FilterItems},
    {"map", FilterMap},
    {"select", FilterSelect<true, false>},
    {"reject", FilterSelect<false, false>},
    {"selectattr", FilterSelect<true, true>},
    {"rejectattr", FilterSelect<false, true>},
    {"sort", FilterSort},
    {"dictsort", FilterDictSort},
    {"unique", FilterUnique},
    {"min", FilterExtreme<false>},
    {"max", FilterExtreme<true>},
    {"sum", FilterSum},
}};

}  // namespace

Builtin FindItemFilter(std::string_view name) {
  const auto* found = std::ranges::find(kItemFilters, name, &NamedItemFilter::name);
  return found == kItemFilters.end() ? nullptr : found->builtin;
}

}  // namespace submix::jinja
