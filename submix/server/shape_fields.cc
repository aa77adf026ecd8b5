#include "submix/server/shape_fields.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace submix::server {
namespace {

using nlohmann::json;
using shape::ShapeKind;
using Field = std::variant<std::optional<AskedShape>, ApiError>;

constexpr std::string_view kSpaces = " \t\r\n";

ApiError FieldError(std::string_view field, const std::string& what) {
  return {.message = "'" + std::string(field) + "' " + what, .param = std::string(field)};
}

Field Shaped(std::string_view field, shape::ShapeRequest request) {
  return AskedShape{std::move(request), std::string(field)};
}

// Of what is well-formed, from the opening quote.
std::size_t EndOfString(std::string_view text, std::size_t at) {
  for (++at; text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at + 1;
}

std::size_t EndOfValue(std::string_view text, std::size_t at) {
  if (text[at] != '{' && text[at] != '[') {
    return text[at] == '"' ? EndOfString(text, at)
                           : std::min(text.size(), text.find_first_of(",]} \t\r\n", at));
  }
  int depth = 0;
  do {
    if (text[at] == '"') {
      at = EndOfString(text, at);
      continue;
    }
    depth += text[at] == '{' || text[at] == '[' ? 1 : 0;
    depth -= text[at] == '}' || text[at] == ']' ? 1 : 0;
    ++at;
  } while (depth > 0);
  return at;
}

// The schema's text, or where it is given as a text, what that says.
Field Schema(std::string_view field, const json& schema, std::string_view body,
             std::vector<std::string_view> keys) {
  if (schema.is_string()) {
    return Shaped(field, {ShapeKind::kJsonSchema, schema.get<std::string>()});
  }
  if (!schema.is_object() && !schema.is_boolean()) {
    return FieldError(field, "must hold a JSON schema.");
  }
  const std::string_view text = ValueText(body, keys);
  if (text.empty()) return FieldError(field, "must be written without escapes in its keys.");
  return Shaped(field, {ShapeKind::kJsonSchema, std::string(text)});
}

Field Choice(std::string_view field, const json& choices) {
  shape::ShapeRequest request{ShapeKind::kChoice};
  const auto is_text = [](const json& choice) { return choice.is_string(); };
  if (!choices.is_array() || !std::ranges::all_of(choices, is_text)) {
    return FieldError(field, "must be a list of texts.");
  }
  for (const json& choice : choices) request.choices.push_back(choice.get<std::string>());
  return Shaped(field, std::move(request));
}

Field Regex(std::string_view field, const json& pattern) {
  if (!pattern.is_string()) return FieldError(field, "must be a regular expression.");
  return Shaped(field, {ShapeKind::kRegex, pattern.get<std::string>()});
}

// Every key but these, or one that is null.
std::string UnknownKey(const json& object, std::span<const std::string_view> known) {
  for (const auto& item : object.items()) {
    if (item.value().is_null()) continue;
    if (std::ranges::find(known, item.key()) == known.end()) return item.key().substr(0, 64);
  }
  return {};
}

Field ResponseFormat(const json& format, std::string_view body) {
  constexpr std::string_view kField = "response_format";
  constexpr std::array<std::string_view, 2> kKeys = {"type", "json_schema"};
  constexpr std::array<std::string_view, 4> kSchemaKeys = {"name", "description", "schema",
                                                           "strict"};
  const std::string type =
      format.is_object() && format.contains("type") && format["type"].is_string()
          ? format["type"].get<std::string>()
          : "";
  if (type != "text" && type != "json_object" && type != "json_schema") {
    return FieldError(kField, "must have a type: text, json_object or json_schema.");
  }
  if (const std::string key = UnknownKey(format, kKeys); !key.empty()) {
    return FieldError(kField, "has the unknown key '" + key + "'.");
  }
  if (type == "text") return std::nullopt;
  if (type == "json_object") return Shaped(kField, {ShapeKind::kJsonObject});
  const auto described = format.find("json_schema");
  if (described == format.end() || !described->is_object() || !described->contains("schema")) {
    return FieldError(kField, "must hold 'json_schema': {'name': …, 'schema': {…}}.");
  }
  if (const std::string key = UnknownKey(*described, kSchemaKeys); !key.empty()) {
    return FieldError(kField, "has the unknown key 'json_schema." + key + "'.");
  }
  return Schema(kField, (*described)["schema"], body, {kField, "json_schema", "schema"});
}

Field StructuredOutputs(const json& outputs, std::string_view body) {
  constexpr std::string_view kField = "structured_outputs";
  constexpr std::array<std::string_view, 4> kKeys = {"choice", "regex", "json", "json_object"};
  if (!outputs.is_object()) return FieldError(kField, "must be an object.");
  if (const std::string key = UnknownKey(outputs, kKeys); !key.empty()) {
    return FieldError(kField, "has '" + key + "', which is not supported.");
  }
  std::string_view chosen;
  for (const std::string_view key : kKeys) {
    const auto value = outputs.find(key);
    if (value == outputs.end() || value->is_null() || *value == json(false)) continue;
    if (!chosen.empty()) return FieldError(kField, "must hold one shape.");
    chosen = key;
  }
  if (chosen.empty()) return FieldError(kField, "must hold choice, regex or json.");
  const json& value = outputs[std::string(chosen)];
  if (chosen == "choice") return Choice(kField, value);
  if (chosen == "regex") return Regex(kField, value);
  if (chosen == "json") return Schema(kField, value, body, {kField, chosen});
  return value == json(true) ? Shaped(kField, {ShapeKind::kJsonObject})
                             : Field(FieldError(kField, "has a json_object that is not true."));
}

Field ReadField(std::string_view field, const json& value, std::string_view body) {
  if (field == "response_format") return ResponseFormat(value, body);
  if (field == "guided_choice") return Choice(field, value);
  if (field == "guided_regex") return Regex(field, value);
  if (field == "guided_json") return Schema(field, value, body, {field});
  return StructuredOutputs(value, body);
}

}  // namespace

bool CountsAsAbsent(const json& value) {
  return value.is_null() || value == json(false) || (value.is_number() && value == 0) ||
         value == json("") || (value.is_structured() && value.empty());
}

std::variant<std::optional<AskedShape>, ApiError> ReadShape(const json& object,
                                                            std::string_view body) {
  std::optional<AskedShape> asked;
  for (const std::string_view field : kShapeFields) {
    const auto value = object.find(field);
    if (value == object.end() || CountsAsAbsent(*value)) continue;
    Field read = ReadField(field, *value, body);
    if (std::holds_alternative<ApiError>(read)) return read;
    auto& shape = std::get<0>(read);
    if (!shape) continue;
    if (asked) {
      return FieldError(field, "is given beside '" + asked->param + "': an answer has one shape.");
    }
    asked = std::move(shape);
  }
  return asked;
}

std::string_view ValueText(std::string_view json, std::span<const std::string_view> keys) {
  std::size_t at = json.find_first_not_of(kSpaces);
  for (const std::string_view key : keys) {
    if (json[at] != '{') return {};
    bool is_found = false;
    while (!is_found) {
      at = json.find_first_not_of(kSpaces, at + 1);
      if (json[at] == '}') return {};
      const std::size_t end = EndOfString(json, at);
      is_found = json.substr(at + 1, end - at - 2) == key;
      at = json.find_first_not_of(kSpaces, json.find(':', end) + 1);
      if (is_found) break;
      at = json.find_first_not_of(kSpaces, EndOfValue(json, at));
      if (json[at] == '}') return {};
    }
  }
  return json.substr(at, EndOfValue(json, at) - at);
}

}  // namespace submix::server
