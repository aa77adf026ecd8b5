#include "submix/base/json_object.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include <nlohmann/json.hpp>

#include "submix/base/file_system.h"
#include "submix/base/json_structure.h"

namespace submix::base {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxDepth = 8;

std::string LineText(std::string_view text, std::size_t byte) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text.size()));
  return std::to_string(1 + std::count(text.begin(), end, '\n'));
}

StatusOr<Json> ParseValue(std::string_view text, const std::string& where) {
  try {
    const JsonStructure structure = ReadJsonStructure(text, {.depth = kMaxDepth});
    if (structure.nul_byte) {
      return InvalidArgumentError(where + ":" + LineText(text, *structure.nul_byte) +
                                  ": not valid JSON: a NUL byte");
    }
    if (structure.is_too_deep) return InvalidArgumentError(where + ": nested too deeply");
    if (structure.duplicate_key) {
      return InvalidArgumentError(where + ": duplicate key " + Quoted(*structure.duplicate_key));
    }
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    return InvalidArgumentError(where + ":" + LineText(text, error.byte) + ": not valid JSON");
  } catch (const Json::exception&) {
    return InvalidArgumentError(where + ": not valid JSON: a number out of range");
  } catch (const std::exception& error) {
    return InternalError(where + ": reading JSON failed: " + Printable(error.what()));
  }
}

}  // namespace

struct JsonObject::Node {
  std::shared_ptr<const Json> root;  // keeps `object` alive
  const Json* object = nullptr;
  std::string where;   // the file
  std::string prefix;  // "members[3]." or empty

  // Null if absent.
  const Json* Find(std::string_view field) const {
    const auto found = object->find(std::string(field));
    return found == object->end() || found->is_null() ? nullptr : &*found;
  }
  Status Expected(std::string_view field, std::string_view what) const {
    const auto value = object->find(std::string(field));
    const std::string found = value == object->end() ? "nothing" : std::string(value->type_name());
    return InvalidArgumentError(where + ": field " + Quoted(prefix + std::string(field)) +
                                ": expected " + std::string(what) + ", found " + found);
  }
  std::shared_ptr<const Node> Child(const Json& child, const std::string& name) const {
    return std::make_shared<const Node>(Node{root, &child, where, prefix + name + "."});
  }
};

namespace {

bool IsIntegerWithin(const Json& value, std::int64_t least, std::int64_t most) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
    return false;
  }
  const auto number = value.get<std::int64_t>();
  return number >= least && number <= most;
}

std::string RangeText(std::int64_t least, std::int64_t most) {
  const std::string from = "from " + std::to_string(least);
  return most == INT64_MAX ? from + " on" : from + " to " + std::to_string(most);
}

}  // namespace

JsonObject::JsonObject(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

StatusOr<JsonObject> JsonObject::Parse(std::string_view text, const std::string& where) {
  SUBMIX_RETURN_IF_ERROR(CheckIsNoLfsPointer(text, where));
  SUBMIX_ASSIGN_OR_RETURN(Json value, ParseValue(text, where));
  if (!value.is_object()) return InvalidArgumentError(where + ": expected a JSON object");
  auto root = std::make_shared<const Json>(std::move(value));
  const Json* object = root.get();
  return JsonObject(std::make_shared<const Node>(Node{std::move(root), object, where, ""}));
}

StatusOr<JsonObject> JsonObject::Load(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return Parse(text, path);
}

std::vector<std::string> JsonObject::fields() const {
  std::vector<std::string> names;
  for (const auto& item : node_->object->items()) names.push_back(item.key());
  return names;
}

bool JsonObject::Has(std::string_view field) const { return node_->Find(field) != nullptr; }

bool JsonObject::IsOff(std::string_view field) const {
  const Json* value = node_->Find(field);
  if (value == nullptr) return true;
  if (value->is_boolean()) return !value->get<bool>();
  if (value->is_number()) return *value == 0;
  if (value->is_string()) return value->get_ref<const std::string&>().empty();
  return value->empty();
}

bool JsonObject::IsNull(std::string_view field) const {
  const auto found = node_->object->find(std::string(field));
  return found != node_->object->end() && found->is_null();
}

bool JsonObject::IsText(std::string_view field) const {
  const Json* value = node_->Find(field);
  return value != nullptr && value->is_string();
}

bool JsonObject::IsList(std::string_view field) const {
  const Json* value = node_->Find(field);
  return value != nullptr && value->is_array();
}

std::string JsonObject::ValueText(std::string_view field) const {
  const auto found = node_->object->find(std::string(field));
  if (found == node_->object->end()) return "";
  return found->dump(-1, ' ', false, Json::error_handler_t::replace);
}

StatusOr<std::int64_t> JsonObject::Integer(std::string_view field, std::int64_t least,
                                           std::int64_t most) const {
  const Json* value = node_->Find(field);
  if (value == nullptr || !value->is_number()) return node_->Expected(field, "an integer");
  if (!IsIntegerWithin(*value, least, most)) {
    return FieldError(field, "expected an integer " + RangeText(least, most));
  }
  return value->get<std::int64_t>();
}

StatusOr<int> JsonObject::Int(std::string_view field, int least, int most) const {
  SUBMIX_ASSIGN_OR_RETURN(const std::int64_t number, Integer(field, least, most));
  return static_cast<int>(number);
}

StatusOr<double> JsonObject::Number(std::string_view field) const {
  const Json* value = node_->Find(field);
  if (value == nullptr || !value->is_number()) return node_->Expected(field, "a number");
  const auto number = value->get<double>();
  if (!std::isfinite(number)) return node_->Expected(field, "a finite number");
  return number;
}

StatusOr<bool> JsonObject::Boolean(std::string_view field) const {
  const Json* value = node_->Find(field);
  if (value == nullptr || !value->is_boolean()) return node_->Expected(field, "true or false");
  return value->get<bool>();
}

StatusOr<std::string> JsonObject::Text(std::string_view field) const {
  const Json* value = node_->Find(field);
  if (value == nullptr || !value->is_string()) return node_->Expected(field, "a string");
  return value->get<std::string>();
}

StatusOr<std::vector<std::int64_t>> JsonObject::Integers(std::string_view field, std::int64_t least,
                                                         std::int64_t most) const {
  const Json* value = node_->Find(field);
  if (value == nullptr || !value->is_array()) return node_->Expected(field, "a list of integers");
  std::vector<std::int64_t> numbers;
  for (const Json& item : *value) {
    if (!IsIntegerWithin(item, least, most)) {
      return FieldError(field, "expected only integers " + RangeText(least, most));
    }
    numbers.push_back(item.get<std::int64_t>());
  }
  return numbers;
}

StatusOr<std::vector<int>> JsonObject::IntOrInts(std::string_view field, int least,
                                                 int most) const {
  if (!IsList(field)) {
    SUBMIX_ASSIGN_OR_RETURN(const int number, Int(field, least, most));
    return std::vector<int>{number};
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto numbers, Integers(field, least, most));
  return std::vector<int>(numbers.begin(), numbers.end());
}

StatusOr<std::vector<std::string>> JsonObject::Texts(std::string_view field) const {
  const Json* value = node_->Find(field);
  if (value == nullptr || !value->is_array()) return node_->Expected(field, "a list of strings");
  std::vector<std::string> texts;
  for (const Json& item : *value) {
    if (!item.is_string()) return FieldError(field, "expected only strings");
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

StatusOr<std::map<std::string, std::string>> JsonObject::TextMap(std::string_view field) const {
  const Json* value = node_->Find(field);
  if (value == nullptr || !value->is_object()) {
    return node_->Expected(field, "an object of strings");
  }
  std::map<std::string, std::string> texts;
  for (const auto& item : value->items()) {
    if (!item.value().is_string()) {
      return FieldError(field, "expected a string as " + Quoted(item.key()));
    }
    texts.emplace(item.key(), item.value().get<std::string>());
  }
  return texts;
}

StatusOr<JsonObject> JsonObject::Object(std::string_view field) const {
  const Json* value = node_->Find(field);
  if (value == nullptr || !value->is_object()) return node_->Expected(field, "an object");
  return JsonObject(node_->Child(*value, std::string(field)));
}

StatusOr<std::vector<JsonObject>> JsonObject::Objects(std::string_view field) const {
  const Json* value = node_->Find(field);
  if (value == nullptr || !value->is_array()) return node_->Expected(field, "a list of objects");
  std::vector<JsonObject> objects;
  for (const Json& item : *value) {
    if (!item.is_object()) return FieldError(field, "expected only objects");
    objects.push_back(JsonObject(
        node_->Child(item, std::string(field) + "[" + std::to_string(objects.size()) + "]")));
  }
  return objects;
}

JsonObject JsonObject::WithDefaults(const JsonObject& defaults) const {
  Json all = *node_->object;
  for (const auto& item : defaults.node_->object->items()) {
    if (!all.contains(item.key())) all[item.key()] = item.value();
  }
  auto root = std::make_shared<const Json>(std::move(all));
  const Json* object = root.get();
  return JsonObject(
      std::make_shared<const Node>(Node{std::move(root), object, node_->where, node_->prefix}));
}

Status JsonObject::ReadIfPresent(std::string_view field, bool& value) const {
  if (!Has(field)) return OkStatus();
  SUBMIX_ASSIGN_OR_RETURN(value, Boolean(field));
  return OkStatus();
}

Status JsonObject::ReadIfPresent(std::string_view field, double& value) const {
  if (!Has(field)) return OkStatus();
  SUBMIX_ASSIGN_OR_RETURN(value, Number(field));
  return OkStatus();
}

Status JsonObject::ReadIfPresent(std::string_view field, std::string& value) const {
  if (!Has(field)) return OkStatus();
  SUBMIX_ASSIGN_OR_RETURN(value, Text(field));
  return OkStatus();
}

Status JsonObject::ReadIfPresent(std::string_view field, std::optional<std::int64_t>& value) const {
  if (!Has(field)) return OkStatus();
  SUBMIX_ASSIGN_OR_RETURN(value, Integer(field, INT64_MIN, INT64_MAX));
  return OkStatus();
}

Status JsonObject::FieldError(std::string_view field, std::string_view problem) const {
  return InvalidArgumentError(node_->where + ": field " +
                              Quoted(node_->prefix + std::string(field)) + ": " +
                              std::string(problem));
}

std::string Printable(std::string_view text) {
  std::string printable(text);
  std::ranges::replace_if(
      printable, [](char c) { return c < ' ' || c > '~'; }, '?');
  return printable;
}

std::string Quoted(std::string_view text) {
  constexpr std::size_t kLongest = 100;
  return '"' + Printable(text.substr(0, kLongest)) + (text.size() > kLongest ? "…\"" : "\"");
}

std::string JsonText(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace submix::base
