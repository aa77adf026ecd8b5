// Reading JSON that others wrote: typed, range-checked fields whose errors name file and field.
// Duplicate keys, NUL bytes and deep nesting are refused, since a plain parser would pick one of
// two values, stop early or run out of stack. The JSON library stays in the .cc.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/status.h"

namespace submix::base {

// One JSON object. An immutable value, cheap to copy, thread-safe. "Absent" below means missing or
// null. Every getter: kInvalidArgument if the field is absent or not of this type or range.
class JsonObject {
 public:
  // `where` opens every error message: a path. Errors: kInvalidArgument if `text` is not one JSON
  // object.
  static StatusOr<JsonObject> Parse(std::string_view text, const std::string& where);
  // Errors: kNotFound and as Parse.
  static StatusOr<JsonObject> Load(const std::string& path);

  // All keys, sorted.
  std::vector<std::string> fields() const;
  bool Has(std::string_view field) const;
  bool IsNull(std::string_view field) const;  // there, and null
  // Absent, false, 0, "", [] or {}: a feature that is switched off.
  bool IsOff(std::string_view field) const;
  bool IsText(std::string_view field) const;
  bool IsList(std::string_view field) const;
  // The field's value as JSON without spaces, "null" included; "" if it is missing.
  std::string ValueText(std::string_view field) const;

  // Numbers written with a fraction or an exponent are not integers.
  StatusOr<std::int64_t> Integer(std::string_view field, std::int64_t least,
                                 std::int64_t most) const;
  StatusOr<int> Int(std::string_view field, int least, int most) const;
  StatusOr<double> Number(std::string_view field) const;  // finite
  StatusOr<bool> Boolean(std::string_view field) const;
  StatusOr<std::string> Text(std::string_view field) const;
  StatusOr<std::vector<std::int64_t>> Integers(std::string_view field, std::int64_t least,
                                               std::int64_t most) const;
  StatusOr<std::vector<int>> IntOrInts(std::string_view field, int least, int most) const;
  StatusOr<std::vector<std::string>> Texts(std::string_view field) const;
  StatusOr<std::map<std::string, std::string>> TextMap(std::string_view field) const;
  StatusOr<JsonObject> Object(std::string_view field) const;
  StatusOr<std::vector<JsonObject>> Objects(std::string_view field) const;

  // This object with those fields of `defaults` that are missing here. What is null stays null.
  JsonObject WithDefaults(const JsonObject& defaults) const;

  // Puts the field into `value`; leaves that alone if the field is absent. Errors: as the getters'.
  Status ReadIfPresent(std::string_view field, bool& value) const;
  Status ReadIfPresent(std::string_view field, double& value) const;
  Status ReadIfPresent(std::string_view field, std::string& value) const;
  Status ReadIfPresent(std::string_view field, std::optional<std::int64_t>& value) const;

  // "FILE: field "a.b": `problem`" as an error, for checks beyond type and range.
  Status FieldError(std::string_view field, std::string_view problem) const;

 private:
  struct Node;
  explicit JsonObject(std::shared_ptr<const Node> node);

  std::shared_ptr<const Node> node_;
};

// For messages: `text` with anything but printable ASCII as '?'. What other libraries say passes
// here, since it may quote a damaged file: no byte of that may command a terminal.
std::string Printable(std::string_view text);
// The same in double quotes, cut after 100 bytes.
std::string Quoted(std::string_view text);

// `text` as a JSON string, quotes included. Bytes that are not UTF-8 are replaced.
std::string JsonText(std::string_view text);

}  // namespace submix::base
