#include "submix/shape/json_schema.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/base/json_object.h"
#include "submix/base/json_structure.h"
#include "submix/shape/json_grammar.h"
#include "submix/shape/pattern.h"

namespace submix::shape {
namespace {

using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

constexpr base::JsonLimits kLimits{.depth = 32, .values = 1 << 12};
constexpr int kMostSchemas = 64;  // schemas within each other, references followed

constexpr std::array<std::string_view, 13> kDescribing = {
    "$schema",    "$id",      "$comment",  "$defs",   "definitions", "title",   "description",
    "deprecated", "readOnly", "writeOnly", "default", "example",     "examples"};

struct TypeKeywords {
  std::string_view type;
  std::vector<std::string_view> keywords;
};

// What each type understands.
const std::array<TypeKeywords, 7>& Types() {
  static const std::array<TypeKeywords, 7> types = {{
      {"object", {"properties", "required", "additionalProperties"}},
      {"array", {"items", "minItems", "maxItems"}},
      {"string", {"minLength", "maxLength", "pattern"}},
      {"number", {}},
      {"integer", {}},
      {"boolean", {}},
      {"null", {}},
  }};
  return types;
}

bool IsOfType(const Json& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "number") return value.is_number();
  if (type == "integer") {
    return value.is_number_integer() ||
           (value.is_number_float() && value.get<double>() == std::trunc(value.get<double>()));
  }
  if (type == "boolean") return value.is_boolean();
  return value.is_null();
}

class SchemaReader {
 public:
  explicit SchemaReader(const Json& root) : root_(root) {}

  // `where` is a path such as #/properties/name. Errors: kInvalidArgument.
  StatusOr<Expression> Read(const Json& schema, const std::string& where) {
    if (depth_ == kMostSchemas) return Refuse(where, "schemas are nested too deeply");
    ++depth_;
    StatusOr<Expression> read = ReadHere(schema, where);
    --depth_;
    return read;
  }

 private:
  static Status Refuse(const std::string& where, const std::string& what) {
    return base::InvalidArgumentError("JSON schema at " + base::Printable(where.substr(0, 200)) +
                                      ": " + what);
  }

  StatusOr<Expression> ReadHere(const Json& schema, const std::string& where) {
    if (schema == Json(true)) return AnyJsonValue();
    if (!schema.is_object()) return Refuse(where, "expected an object");
    for (const std::string_view keyword : {"$ref", "anyOf", "oneOf", "allOf", "enum", "const"}) {
      if (!schema.contains(keyword)) continue;
      std::vector<std::string_view> beside;
      if (keyword == "enum" || keyword == "const") beside.push_back("type");
      SUBMIX_RETURN_IF_ERROR(CheckKeywords(schema, keyword, beside, where));
      const Json& value = schema.at(std::string(keyword));
      const std::string here = where + "/" + std::string(keyword);
      if (keyword == "$ref") return ReadReference(value, here);
      if (keyword == "enum" || keyword == "const") return ReadValues(schema, keyword, here);
      return ReadAlternatives(value, keyword, here);
    }
    return ReadTypes(schema, where);
  }

  static Status CheckKeywords(const Json& schema, std::string_view read,
                              const std::vector<std::string_view>& beside,
                              const std::string& where) {
    for (const auto& item : schema.items()) {
      const auto is = [&](std::string_view name) { return item.key() == name; };
      if (is(read) || std::ranges::any_of(kDescribing, is) || std::ranges::any_of(beside, is)) {
        continue;
      }
      return Refuse(where, "\"" + item.key().substr(0, 64) + "\" is not supported" +
                               (read.empty() ? "" : " beside \"" + std::string(read) + "\""));
    }
    return base::OkStatus();
  }

  StatusOr<Expression> ReadReference(const Json& value, const std::string& where) {
    const std::string target = value.is_string() ? value.get<std::string>() : "";
    const std::size_t slash = target.rfind('/');
    const std::string folder = target.substr(0, slash == std::string::npos ? 0 : slash);
    if (folder != "#/$defs" && folder != "#/definitions") {
      return Refuse(where, "a reference must be \"#/$defs/NAME\"");
    }
    if (const auto read = definitions_.find(target); read != definitions_.end()) {
      return read->second;
    }
    const auto definitions = root_.find(folder.substr(2));
    const std::string name = target.substr(slash + 1);
    if (definitions == root_.end() || !definitions->is_object() || !definitions->contains(name)) {
      return Refuse(where, "it refers to nothing");
    }
    if (!following_.insert(target).second) {
      return Refuse(where, "a schema that contains itself is not supported");
    }
    SUBMIX_ASSIGN_OR_RETURN(const Expression read, Read(definitions->at(name), target));
    following_.erase(target);
    definitions_.emplace(target, read);
    return read;
  }

  StatusOr<Expression> ReadAlternatives(const Json& value, std::string_view keyword,
                                        const std::string& where) {
    if (!value.is_array() || value.empty()) return Refuse(where, "expected a list of schemas");
    if (keyword == "allOf" && value.size() > 1) {
      return Refuse(where, "more than one schema at once is not supported");
    }
    std::vector<Expression> choices;
    for (std::size_t i = 0; i < value.size(); ++i) {
      SUBMIX_ASSIGN_OR_RETURN(Expression choice, Read(value[i], where + "/" + std::to_string(i)));
      choices.push_back(std::move(choice));
    }
    return AnyOf(std::move(choices));
  }

  StatusOr<Expression> ReadValues(const Json& schema, std::string_view keyword,
                                  const std::string& where) {
    const Json& value = schema.at(std::string(keyword));
    if (keyword == "enum" && (!value.is_array() || value.empty())) {
      return Refuse(where, "expected a list of values");
    }
    SUBMIX_ASSIGN_OR_RETURN(const auto types, TypesOf(schema, where));
    std::vector<Expression> choices;
    for (const Json& choice : keyword == "enum" ? value : Json::array({value})) {
      const auto is_of = [&](std::string_view type) { return IsOfType(choice, type); };
      if (std::ranges::any_of(types, is_of)) choices.push_back(Text(choice.dump()));
    }
    if (choices.empty()) return Refuse(where, "no value has the \"type\" beside it");
    return AnyOf(std::move(choices));
  }

  // All types where none is named.
  StatusOr<std::vector<std::string>> TypesOf(const Json& schema, const std::string& where) {
    std::vector<std::string> types;
    const auto field = schema.find("type");
    if (field == schema.end()) {
      for (const TypeKeywords& type : Types()) types.emplace_back(type.type);
      return types;
    }
    for (const Json& type : field->is_array() ? *field : Json::array({*field})) {
      if (!type.is_string() || std::ranges::find(Types(), type.get_ref<const std::string&>(),
                                                 &TypeKeywords::type) == Types().end()) {
        return Refuse(where, "\"type\" must name one or more of JSON's seven types");
      }
      types.push_back(type.get<std::string>());
    }
    if (types.empty()) return Refuse(where, "\"type\" is an empty list");
    return types;
  }

  StatusOr<Expression> ReadTypes(const Json& schema, const std::string& where) {
    SUBMIX_ASSIGN_OR_RETURN(std::vector<std::string> types, TypesOf(schema, where));
    if (!schema.contains("type")) {
      types = TypesMeant(schema);
      if (types.empty()) {
        SUBMIX_RETURN_IF_ERROR(CheckKeywords(schema, "", {}, where));
        return AnyJsonValue();
      }
    }
    std::vector<std::string_view> understood = {"type"};
    for (const TypeKeywords& type : Types()) {
      if (std::ranges::find(types, type.type) == types.end()) continue;
      understood.insert(understood.end(), type.keywords.begin(), type.keywords.end());
    }
    SUBMIX_RETURN_IF_ERROR(CheckKeywords(schema, "", understood, where));
    std::vector<Expression> choices;
    for (const std::string& type : types) {
      SUBMIX_ASSIGN_OR_RETURN(Expression choice, ReadType(schema, type, where));
      choices.push_back(std::move(choice));
    }
    return AnyOf(std::move(choices));
  }

  // Of a schema without "type": those whose keywords it uses.
  static std::vector<std::string> TypesMeant(const Json& schema) {
    std::vector<std::string> types;
    for (const TypeKeywords& type : Types()) {
      const auto uses = [&](std::string_view keyword) { return schema.contains(keyword); };
      if (std::ranges::any_of(type.keywords, uses)) types.emplace_back(type.type);
    }
    return types;
  }

  StatusOr<Expression> ReadType(const Json& schema, std::string_view type,
                                const std::string& where) {
    if (type == "object") return ReadObject(schema, where);
    if (type == "array") return ReadArray(schema, where);
    if (type == "string") return ReadString(schema, where);
    if (type == "number") return JsonNumber();
    if (type == "integer") return JsonInteger();
    if (type == "boolean") return JsonBoolean();
    return JsonNull();
  }

  StatusOr<Expression> ReadObject(const Json& schema, const std::string& where) {
    const auto properties = schema.find("properties");
    const auto additional = schema.find("additionalProperties");
    if (properties == schema.end()) {
      if (schema.contains("required")) {
        return Refuse(where, "\"required\" needs \"properties\"");
      }
      if (additional == schema.end() || *additional == Json(true)) return AnyJsonObject();
      if (*additional == Json(false)) return Text("{}");
      SUBMIX_ASSIGN_OR_RETURN(Expression value, Read(*additional, where + "/additionalProperties"));
      return JsonObject(Repeat(JsonMember(JsonString(), std::move(value)), 0, kUnbounded, ","));
    }
    if (!properties->is_object()) return Refuse(where, "\"properties\" must be an object");
    if (additional != schema.end() && !additional->is_boolean()) {
      return Refuse(where, "\"additionalProperties\" beside \"properties\" must be false");
    }
    SUBMIX_ASSIGN_OR_RETURN(const auto required, Required(schema, *properties, where));
    std::vector<Expression> members;
    std::vector<bool> is_required;
    for (const auto& item : properties->items()) {
      SUBMIX_ASSIGN_OR_RETURN(Expression value,
                              Read(item.value(), where + "/properties/" + item.key()));
      members.push_back(JsonMember(Text(Json(item.key()).dump()), std::move(value)));
      is_required.push_back(required.contains(item.key()));
    }
    return JsonObject(Members(std::move(members), std::move(is_required), ","));
  }

  static StatusOr<std::set<std::string>> Required(const Json& schema, const Json& properties,
                                                  const std::string& where) {
    std::set<std::string> required;
    const auto field = schema.find("required");
    if (field == schema.end()) return required;
    if (!field->is_array()) return Refuse(where, "\"required\" must be a list of names");
    for (const Json& name : *field) {
      if (!name.is_string() || !properties.contains(name.get<std::string>())) {
        return Refuse(where, "\"required\" names what \"properties\" does not describe");
      }
      required.insert(name.get<std::string>());
    }
    return required;
  }

  StatusOr<Expression> ReadArray(const Json& schema, const std::string& where) {
    SUBMIX_ASSIGN_OR_RETURN(const Counts counts, ReadCounts(schema, "minItems", "maxItems", where));
    Expression item = AnyJsonValue(kJsonDepth - 1);
    if (schema.contains("items")) {
      SUBMIX_ASSIGN_OR_RETURN(item, Read(schema.at("items"), where + "/items"));
    }
    return JsonArray(std::move(item), counts.least, counts.most);
  }

  StatusOr<Expression> ReadString(const Json& schema, const std::string& where) {
    SUBMIX_ASSIGN_OR_RETURN(const Counts counts,
                            ReadCounts(schema, "minLength", "maxLength", where));
    const auto pattern = schema.find("pattern");
    if (pattern == schema.end()) return JsonString(counts.least, counts.most);
    if (schema.contains("minLength") || schema.contains("maxLength")) {
      return Refuse(where, "\"pattern\" beside a length is not supported: count in the pattern");
    }
    if (!pattern->is_string()) return Refuse(where, "\"pattern\" must be a string");
    auto inside = ReadPattern(pattern->get_ref<const std::string&>(),
                              {.write = JsonCharacter, .anywhere = true});
    if (!inside.ok()) return Refuse(where, inside.status().message());
    return Concat({Text("\""), *std::move(inside), Text("\"")});
  }

  struct Counts {
    int least = 0;
    int most = kUnbounded;
  };

  static StatusOr<Counts> ReadCounts(const Json& schema, const std::string& least,
                                     const std::string& most, const std::string& where) {
    Counts counts;
    for (const auto& [name, value] : {std::pair(least, &counts.least), {most, &counts.most}}) {
      const auto field = schema.find(name);
      if (field == schema.end()) continue;
      if (!field->is_number_unsigned() ||
          field->get<std::uint64_t>() > std::numeric_limits<int>::max()) {
        return Refuse(where, "\"" + name + "\" must be a whole number from 0 on");
      }
      *value = field->get<int>();
    }
    if (counts.most != kUnbounded && counts.most < counts.least) {
      return Refuse(where, "\"" + most + "\" is below \"" + least + "\"");
    }
    return counts;
  }

  const Json& root_;
  int depth_ = 0;
  std::map<std::string, Expression> definitions_;  // read already
  std::set<std::string> following_;                // being read
};

StatusOr<Json> ParseSchema(std::string_view schema) {
  const auto refuse = [](const std::string& why) {
    return base::InvalidArgumentError("the JSON schema " + why);
  };
  if (schema.size() > kMostSchemaBytes) {
    return refuse("has more than " + std::to_string(kMostSchemaBytes) + " bytes");
  }
  const base::JsonStructure structure = base::ReadJsonStructure(schema, kLimits);
  if (structure.nul_byte) return refuse("holds a NUL byte");
  if (structure.is_too_deep) {
    return refuse("is nested deeper than " + std::to_string(kLimits.depth) + " levels");
  }
  if (structure.has_too_many_values) {
    return refuse("holds more than " + std::to_string(kLimits.values) + " values");
  }
  if (structure.duplicate_key) return refuse("has a key twice");
  try {
    return Json::parse(schema);
  } catch (const Json::parse_error& error) {
    return refuse("is no JSON: it cannot be read at byte " + std::to_string(error.byte));
  } catch (const Json::exception&) {
    return refuse("has a number that is out of range");
  }
}

}  // namespace

StatusOr<Expression> ReadJsonSchema(std::string_view schema) {
  SUBMIX_ASSIGN_OR_RETURN(const Json root, ParseSchema(schema));
  return SchemaReader(root).Read(root, "#");
}

}  // namespace submix::shape
