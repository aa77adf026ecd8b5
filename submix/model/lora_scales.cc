#include "submix/model/lora_scales.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace submix::model {
namespace {

using base::JsonObject;
using base::Quoted;

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

// PEFT takes a pattern for the regular expression of a name's end: here it is that end, between the
// anchors that change nothing. "^" asks for the whole name.
bool IsOfPattern(std::string_view full_name, std::string_view pattern) {
  const bool is_whole = pattern.starts_with('^');
  if (is_whole) pattern.remove_prefix(1);
  if (full_name == pattern) return true;
  return !is_whole && full_name.ends_with(pattern) &&
         full_name[full_name.size() - pattern.size() - 1] == '.';
}

// "^", letters, digits, "_", dots (also as "\."); none: nothing else is read.
std::optional<std::string> PlainPattern(std::string pattern) {
  for (std::size_t at; (at = pattern.find("\\.")) != std::string::npos;) pattern.erase(at, 1);
  if (pattern.ends_with('$')) pattern.pop_back();
  const std::string_view name = std::string_view(pattern).substr(pattern.starts_with('^') ? 1 : 0);
  if (name.empty() || !std::ranges::all_of(name, IsNameCharacter)) return std::nullopt;
  return pattern;
}

base::StatusOr<std::map<std::string, double>> ReadPattern(const JsonObject& json,
                                                          const std::string& field,
                                                          bool are_ranks) {
  std::map<std::string, double> values;
  if (json.IsOff(field) || json.IsNull(field)) return values;
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject patterns, json.Object(field));
  for (const std::string& key : patterns.fields()) {
    const std::optional<std::string> name = PlainPattern(key);
    if (!name) {
      return json.FieldError(field, "the regular expression " + Quoted(key) +
                                        " is not supported; give the modules' names");
    }
    if (are_ranks) {
      SUBMIX_ASSIGN_OR_RETURN(values[*name], patterns.Int(key, 1, kMaxLoraRank));
    } else {
      SUBMIX_ASSIGN_OR_RETURN(values[*name], patterns.Number(key));
    }
  }
  return values;
}

}  // namespace

base::StatusOr<LoraScales> LoraScales::Read(const JsonObject& json) {
  LoraScales scales;
  SUBMIX_ASSIGN_OR_RETURN(scales.rank_.otherwise, json.Int("r", 1, kMaxLoraRank));
  SUBMIX_ASSIGN_OR_RETURN(scales.alpha_.otherwise, json.Number("lora_alpha"));
  scales.rank_.field = "rank_pattern";
  scales.alpha_.field = "alpha_pattern";
  SUBMIX_ASSIGN_OR_RETURN(scales.rank_.values, ReadPattern(json, scales.rank_.field, true));
  SUBMIX_ASSIGN_OR_RETURN(scales.alpha_.values, ReadPattern(json, scales.alpha_.field, false));
  SUBMIX_RETURN_IF_ERROR(json.ReadIfPresent("use_rslora", scales.is_rank_stabilised_));
  return scales;
}

base::StatusOr<double> LoraScales::Pattern::Of(std::string_view full_name) const {
  std::optional<double> found;
  for (const auto& [pattern, value] : values) {
    if (!IsOfPattern(full_name, pattern)) continue;
    if (found && *found != value) {
      return base::InvalidArgumentError("field " + Quoted(field) + ": two patterns name " +
                                        Quoted(full_name) + " and disagree");
    }
    found = value;
  }
  return found.value_or(otherwise);
}

base::StatusOr<LoraScale> LoraScales::Of(std::string_view full_name) const {
  SUBMIX_ASSIGN_OR_RETURN(const double rank, rank_.Of(full_name));
  SUBMIX_ASSIGN_OR_RETURN(const double alpha, alpha_.Of(full_name));
  return LoraScale{static_cast<int>(rank), is_rank_stabilised_ ? alpha * std::sqrt(rank) : alpha};
}

}  // namespace submix::model
