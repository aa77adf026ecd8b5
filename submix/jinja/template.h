// Chat templates, as Hugging Face's library renders them: Jinja2's immutable sandbox with
// trim_blocks, lstrip_blocks, break, continue and the tag `generation`
// (docs/decisions/017-templates-are-run.md). What of Jinja no chat template uses is refused by
// name: include, import, blocks, recursive loops, "*" in calls, and filters that make web pages.
#pragma once

#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "submix/base/status.h"
#include "submix/jinja/syntax.h"
#include "submix/jinja/text.h"

namespace submix::jinja {

// What a template is told: an immutable value.
class Variable {
 public:
  static Variable None() { return Variable(ValueKind::kNone); }
  static Variable Boolean(bool value) {
    Variable made(ValueKind::kBoolean);
    made.boolean_ = value;
    return made;
  }
  static Variable String(Text text) {
    Variable made(ValueKind::kText);
    made.text_ = std::move(text);
    return made;
  }
  static Variable List(std::vector<Variable> items) {
    Variable made(ValueKind::kList);
    made.items_ = std::move(items);
    return made;
  }
  using Fields = std::vector<std::pair<std::string, Variable>>;
  static Variable Dict(Fields fields) {
    Variable made(ValueKind::kDict);
    made.fields_ = std::move(fields);
    return made;
  }

 private:
  friend class Template;
  explicit Variable(ValueKind kind) : kind_(kind) {}
  Value ValueIn(Rendering& rendering) const;

  ValueKind kind_;
  bool boolean_ = false;
  Text text_;
  std::vector<Variable> items_;
  Fields fields_;
};

// Immutable, thread-safe.
class Template {
 public:
  // Errors, with the line: kInvalidArgument for what is no template, kUnimplemented for what is
  // refused.
  static base::StatusOr<Template> Parse(std::string_view source);

  // `now` is for strftime_now, in UTC. At most kMostWork (rendering.h). Errors: kInvalidArgument
  // with the template's own words where it calls raise_exception; with the line,
  // kFailedPrecondition where it does what Python would not, or not with these variables,
  // kUnimplemented for what is refused, kResourceExhausted for too much work.
  base::StatusOr<Text> Render(const Variable::Fields& variables, std::time_t now) const;

 private:
  explicit Template(Body body) : body_(std::move(body)) {}

  Body body_;
};

}  // namespace submix::jinja
