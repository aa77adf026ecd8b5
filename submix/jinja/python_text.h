// ValueList as Python and JSON write them. What is written of a value that holds anything of a
// message is the message's as a whole, quotes and brackets included; a text by itself keeps its
// origins.
#pragma once

#include <cstdint>
#include <string>

#include "submix/jinja/rendering.h"
#include "submix/jinja/value.h"

namespace submix::jinja {

std::string FloatText(double value);  // repr()

Text Str(Rendering& rendering, const Value& value);   // str(); nothing of what is undefined
Text Repr(Rendering& rendering, const Value& value);  // repr()

// json.dumps
struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  bool has_indent = false;
  std::string indent = {};
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};
Text Json(Rendering& rendering, const Value& value, const JsonStyle& style);

// "…" % arguments, with %s, %r, %d, %i, %x, %f and %%, widths and precisions.
Value FormatPercent(Rendering& rendering, const Text& format, const Value& arguments);
// "…".format(…), with {}, {0} and {name}.
Value FormatBraces(Rendering& rendering, const Text& format, Arguments& arguments);

}  // namespace submix::jinja
