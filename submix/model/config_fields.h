// What becomes of each field of a config.json, as data: one table for each family
// (config_tables.cc), and the reader that holds a file to it. Nothing is accepted but what stands
// there. For decoder_config.cc and the families' readers.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/json_object.h"
#include "submix/base/status.h"

namespace submix::model {

enum class FieldUse {
  kRead,        // read; null is refused, since Hugging Face's class cannot use it
  kReadOrNull,  // read; null says something of its own
  kFixed,       // must have one of a few values
  kAlias,       // another name of a field
  kIgnored,     // cannot change a number
};

struct ConfigField {
  std::string_view name;
  FieldUse use;
  // kRead, kReadOrNull: JSON, what the field is where it is absent: the default of Hugging Face's
  // own configuration class; empty: it stays absent. kFixed: the accepted values as JSON without
  // spaces, separated by spaces; that class's default is among them. kAlias: the field.
  // kIgnored: why.
  std::string_view text;
  std::string_view reason = {};  // kFixed: what another value would ask for
};

constexpr ConfigField Read(std::string_view name, std::string_view absent) {
  return {name, FieldUse::kRead, absent};
}
constexpr ConfigField ReadOrNull(std::string_view name, std::string_view absent) {
  return {name, FieldUse::kReadOrNull, absent};
}
constexpr ConfigField MustBe(std::string_view name, std::string_view values,
                             std::string_view reason) {
  return {name, FieldUse::kFixed, values, reason};
}
constexpr ConfigField AliasOf(std::string_view field, std::string_view name) {
  return {name, FieldUse::kAlias, field};
}
constexpr ConfigField Ignored(std::string_view name, std::string_view why) {
  return {name, FieldUse::kIgnored, why};
}

struct FamilyTable {
  std::string_view family;  // model_type
  std::vector<std::string_view> architectures;
  std::vector<std::span<const ConfigField>> fields;
};
// Null if there is no such family.
const FamilyTable* FindFamilyTable(std::string_view family);
// "gpt2, llama, …".
std::string KnownFamilies();

// An object whose fields all stand in `tables`, with those that are absent at their defaults and
// those that are called otherwise at their own names. `what` ends the error for a field that is not
// known: "a llama model". Errors: kInvalidArgument naming file and field.
base::StatusOr<base::JsonObject> CompleteFields(
    const base::JsonObject& json, std::span<const std::span<const ConfigField>> tables,
    std::string_view what);

// A config.json, completed by the table of its family ("model_type"). Errors: kNotFound;
// kInvalidArgument naming file and field.
base::StatusOr<base::JsonObject> LoadConfigFields(const std::string& path);

}  // namespace submix::model
