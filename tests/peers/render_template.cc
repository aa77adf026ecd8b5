// Renders chat templates for chat_templates_test.py: lines of JSON in, as many out.
//   {"template": "…", "variables": {…}, "now": seconds}
//   {"text": "…", "messages": "…", "code": 0} or {"error": "…", "code": a StatusCode}
// All texts of the variable `messages` but roles are a message's; "messages" of an answer is what
// of the text is.
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/jinja/template.h"

namespace {

using nlohmann::ordered_json;
using submix::jinja::Origin;
using submix::jinja::Text;
using submix::jinja::Variable;

Variable VariableOf(const ordered_json& value, Origin origin);

Variable::Fields FieldsOf(const ordered_json& object, Origin origin) {
  Variable::Fields fields;
  for (const auto& [name, value] : object.items()) {
    const Origin of_field = name == "role"       ? Origin::kTemplate
                            : name == "messages" ? Origin::kMessage
                                                 : origin;
    fields.emplace_back(name, VariableOf(value, of_field));
  }
  return fields;
}

Variable VariableOf(const ordered_json& value, Origin origin) {
  if (value.is_boolean()) return Variable::Boolean(value.get<bool>());
  if (value.is_string()) return Variable::String(Text(value.get<std::string>(), origin));
  if (value.is_object()) return Variable::Dict(FieldsOf(value, origin));
  if (!value.is_array()) return Variable::None();
  std::vector<Variable> items;
  for (const ordered_json& item : value) items.push_back(VariableOf(item, origin));
  return Variable::List(std::move(items));
}

ordered_json Answer(const ordered_json& question) {
  const auto parsed = submix::jinja::Template::Parse(question.at("template").get<std::string>());
  if (!parsed.ok()) {
    return {{"error", parsed.status().message()}, {"code", parsed.status().code()}};
  }
  const auto text = parsed->Render(FieldsOf(question.at("variables"), Origin::kTemplate),
                                   question.at("now").get<std::time_t>());
  if (!text.ok()) return {{"error", text.status().message()}, {"code", text.status().code()}};
  std::string of_messages;
  for (std::size_t i = 0; i < text->size(); ++i) {
    if (text->origin(i) == Origin::kMessage) of_messages += text->bytes()[i];
  }
  return {{"text", text->bytes()}, {"messages", of_messages}, {"code", 0}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << Answer(ordered_json::parse(line))
                     .dump(-1, ' ', false, ordered_json::error_handler_t::replace)
              << std::endl;
  }
}
