#include "submix/model/config_fields.h"

#include <algorithm>
#include <map>

namespace submix::model {
namespace {

using base::JsonObject;
using base::Quoted;
using base::Status;
using base::StatusOr;

const ConfigField* Find(std::span<const std::span<const ConfigField>> tables,
                        std::string_view name) {
  for (const std::span<const ConfigField> table : tables) {
    const auto found = std::ranges::find(table, name, &ConfigField::name);
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

bool IsAmong(std::string_view value, std::string_view values) {
  while (!values.empty()) {
    const std::size_t end = std::min(values.find(' '), values.size());
    if (values.substr(0, end) == value) return true;
    values.remove_prefix(std::min(end + 1, values.size()));
  }
  return false;
}

// `values` as a sentence has them: "false or null".
std::string Listed(std::string_view values) {
  std::string text(values);
  for (std::size_t at = text.find(' '); at != std::string::npos; at = text.find(' ', at + 4)) {
    text.replace(at, 1, " or ");
  }
  return text;
}

Status CheckField(const JsonObject& json, const ConfigField& field) {
  switch (field.use) {
    case FieldUse::kRead:
      if (json.IsNull(field.name)) return json.FieldError(field.name, "null is not supported");
      return base::OkStatus();
    case FieldUse::kFixed: {
      const std::string value = json.ValueText(field.name);
      if (IsAmong(value, field.text)) return base::OkStatus();
      return json.FieldError(field.name, "expected " + Listed(field.text) + ", found " +
                                             Quoted(value) + ": " + std::string(field.reason));
    }
    case FieldUse::kAlias:
      if (json.ValueText(field.text).empty() ||
          json.ValueText(field.text) == json.ValueText(field.name)) {
        return base::OkStatus();
      }
      return json.FieldError(
          field.name, "differs from " + Quoted(field.text) + ", of which it is another name");
    case FieldUse::kReadOrNull:
    case FieldUse::kIgnored:
      return base::OkStatus();
  }
  return base::OkStatus();
}

Status CheckArchitectures(const JsonObject& json, const FamilyTable& table) {
  constexpr std::string_view kField = "architectures";
  if (!json.Has(kField)) return base::OkStatus();
  SUBMIX_ASSIGN_OR_RETURN(const auto names, json.Texts(kField));
  for (const std::string& name : names) {
    if (std::ranges::find(table.architectures, name) != table.architectures.end()) continue;
    return json.FieldError(kField, Quoted(name) + " is not supported; a language model of the " +
                                       "family " + std::string(table.family) + " is a " +
                                       std::string(table.architectures.front()));
  }
  return base::OkStatus();
}

Status UnknownFamilyError(const JsonObject& json, const std::string& family) {
  if (json.Has("text_config")) {
    return json.FieldError(
        "model_type", Quoted(family) +
                          " is a text model (\"text_config\") together with others, for pictures "
                          "or sound, and is not supported; text models alone are: " +
                          KnownFamilies());
  }
  return json.FieldError("model_type",
                         Quoted(family) + " is not known; known are " + KnownFamilies());
}

}  // namespace

StatusOr<JsonObject> CompleteFields(const JsonObject& json,
                                    std::span<const std::span<const ConfigField>> tables,
                                    std::string_view what) {
  std::map<std::string_view, std::string> absent;  // as JSON
  for (const std::string& name : json.fields()) {
    const ConfigField* const field = Find(tables, name);
    if (field == nullptr) {
      return json.FieldError(name, "not known for " + std::string(what) +
                                       ", and may change what it computes; docs/models.md says "
                                       "which fields are read and which are ignored");
    }
    SUBMIX_RETURN_IF_ERROR(CheckField(json, *field));
    if (field->use == FieldUse::kAlias) absent.emplace(field->text, json.ValueText(name));
  }
  for (const std::span<const ConfigField> table : tables) {
    for (const ConfigField& field : table) {
      const bool is_read = field.use == FieldUse::kRead || field.use == FieldUse::kReadOrNull;
      if (is_read && !field.text.empty()) absent.emplace(field.name, field.text);
    }
  }
  std::string text;
  for (const auto& [name, value] : absent) {
    text += (text.empty() ? "" : ",") + base::JsonText(name) + ":" + value;
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto defaults, JsonObject::Parse("{" + text + "}", "defaults"));
  return json.WithDefaults(defaults);
}

StatusOr<JsonObject> LoadConfigFields(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const auto json, JsonObject::Load(path));
  SUBMIX_ASSIGN_OR_RETURN(const std::string family, json.Text("model_type"));
  const FamilyTable* const table = FindFamilyTable(family);
  if (table == nullptr) return UnknownFamilyError(json, family);
  SUBMIX_RETURN_IF_ERROR(CheckArchitectures(json, *table));
  return CompleteFields(json, table->fields, "a " + family + " model");
}

}  // namespace submix::model
