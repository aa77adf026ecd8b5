#include "submix/jinja/template.h"

#include "submix/jinja/evaluator.h"
#include "submix/jinja/operators.h"
#include "submix/jinja/parser.h"
#include "submix/jinja/rendering.h"

namespace submix::jinja {

Value Variable::ValueIn(Rendering& rendering) const {
  switch (kind_) {
    case ValueKind::kBoolean:
      return Value::Boolean(boolean_);
    case ValueKind::kText:
      return rendering.Make(text_);
    case ValueKind::kList: {
      ValueList items;
      for (const Variable& item : items_) items.push_back(item.ValueIn(rendering));
      return rendering.MakeList(std::move(items));
    }
    case ValueKind::kDict: {
      jinja::Dict dict;
      for (const auto& [name, value] : fields_) {
        SetKey(rendering, dict, rendering.MakeName(name), value.ValueIn(rendering));
      }
      return rendering.MakeDict(std::move(dict));
    }
    default:
      return Value::None();
  }
}

base::StatusOr<Template> Template::Parse(std::string_view source) {
  if (!IsWellFormed(source)) return base::InvalidArgumentError("the template is not UTF-8");
  SUBMIX_ASSIGN_OR_RETURN(Body body, ParseTemplate(source));
  return Template(std::move(body));
}

base::StatusOr<Text> Template::Render(const Variable::Fields& variables, std::time_t now) const {
  Rendering rendering(now);
  Scope& globals = rendering.MakeScope(nullptr);
  for (const auto& [name, value] : variables) globals.Set(name, value.ValueIn(rendering));
  Text out;
  Evaluator(rendering, rendering.MakeScope(&globals)).Run(body_, out);
  if (rendering.failed()) return rendering.status();
  return out;
}

}  // namespace submix::jinja
