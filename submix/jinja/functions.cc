#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "submix/base/json_object.h"
#include "submix/base/number_text.h"
#include "submix/jinja/builtins.h"
#include "submix/jinja/operators.h"
#include "submix/jinja/python_text.h"

namespace submix::jinja {
namespace {

Value CallRange(Rendering& rendering, const Value& /*self*/, Arguments& arguments) {
  const ValueList given = arguments.TakePositional();
  const bool all_integers = std::ranges::all_of(given, [](auto& v) { return v.IsInteger(); });
  if (given.empty() || given.size() > 3 || !all_integers) {
    return rendering.Fail("range() needs one to three integers");
  }
  const std::int64_t begin = given.size() > 1 ? given[0].integer() : 0;
  const std::int64_t end = given[given.size() > 1 ? 1 : 0].integer();
  const std::int64_t step = given.size() > 2 ? given[2].integer() : 1;
  if (step == 0) return rendering.Fail("range() needs a step that is not zero");
  ValueList items;
  for (std::int64_t i = begin; step > 0 ? i < end : i > end;) {
    if (std::ssize(items) == kMostRange) return rendering.Fail("a range is too long");
    items.push_back(Value::Integer(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return rendering.MakeList(std::move(items));
}

Dict DictOf(Rendering& rendering, Arguments& arguments) {
  Dict dict;
  if (const auto first = arguments.Take("")) {
    if (first->Is(ValueKind::kDict)) {
      dict = first->dict();
    } else {
      rendering.Refuse("dict() of anything but a dict and names is not supported");
    }
  }
  for (const auto& [name, value] : arguments.TakeNamed()) {
    SetKey(rendering, dict, rendering.MakeName(name), value);
  }
  return dict;
}

Value CallDict(Rendering& rendering, const Value& /*self*/, Arguments& arguments) {
  return rendering.MakeDict(DictOf(rendering, arguments));
}

Value CallNamespace(Rendering& rendering, const Value& /*self*/, Arguments& arguments) {
  return rendering.MakeNamespace(DictOf(rendering, arguments));
}

// In the template's words, as far as a line of an error goes.
Value CallRaiseException(Rendering& rendering, const Value& /*self*/, Arguments& arguments) {
  constexpr std::size_t kLongest = 300;
  const Text text = Str(rendering, arguments.TakeOr("message", Value()));
  if (rendering.failed()) return {};
  std::string words;
  for (std::size_t i = 0; i < text.size() && words.size() < kLongest;) {
    const std::size_t size = CodePointAt(text.bytes(), i).size;
    const bool is_control = std::iscntrl(static_cast<unsigned char>(text.bytes()[i])) != 0;
    words += is_control ? " " : text.bytes().substr(i, size);
    i += size;
  }
  return rendering.Fail(base::StatusCode::kInvalidArgument, std::move(words));
}

Value CallStrftimeNow(Rendering& rendering, const Value& /*self*/, Arguments& arguments) {
  const Value format = arguments.TakeOr("format", Value());
  if (!format.Is(ValueKind::kText)) return rendering.Fail("strftime_now() needs a string");
  const std::string text = base::UtcTime(rendering.now(), format.bytes().c_str());
  if (text.empty() && !format.text().empty()) {
    return rendering.Fail("strftime_now() writes at most 63 bytes");
  }
  return rendering.MakeText(text, format.text().Whole());
}

constexpr std::array<Function, 5> kFunctions = {{{"range", CallRange},
                                                 {"dict", CallDict},
                                                 {"namespace", CallNamespace},
                                                 {"raise_exception", CallRaiseException},
                                                 {"strftime_now", CallStrftimeNow}}};

}  // namespace

const Function* FindFunction(std::string_view name) {
  const auto* found = std::ranges::find(kFunctions, name, &Function::name);
  return found == kFunctions.end() ? nullptr : found;
}

Value CallBuiltin(Rendering& rendering, std::string_view name, Builtin builtin, const Value& self,
                  Arguments& arguments) {
  if (rendering.failed()) return {};
  const Value result = builtin(rendering, self, arguments);
  if (!arguments.empty()) {
    return rendering.Fail(base::Quoted(name) + " has arguments that are not supported");
  }
  return rendering.failed() ? Value() : result;
}

}  // namespace submix::jinja
