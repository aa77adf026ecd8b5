// Rotary positions: a base and a scaling. transformers 4 writes rope_theta and rope_scaling, 5
// writes both as rope_parameters; for a Gemma 3 each for two kinds of layers. Where a file has
// both, the two versions do not read the same: then they must agree.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "submix/model/config_fields.h"
#include "submix/model/decoder_families.h"

namespace submix::model {
namespace {

using base::JsonObject;
using base::Quoted;
using base::Status;
using base::StatusOr;

constexpr std::string_view kTheta = "rope_theta";
constexpr std::string_view kScaling = "rope_scaling";
constexpr std::string_view kParameters = "rope_parameters";
constexpr std::string_view kLocalTheta = "rope_local_base_freq";
constexpr std::string_view kEverywhere = "full_attention";
constexpr std::string_view kWindowed = "sliding_attention";

// The fields of one scaling, by its type.
constexpr auto kAnyType = std::to_array<ConfigField>({
    Read("rope_type", ""),
    Read("type", ""),  // its name before transformers 4.43
    Read(kTheta, ""),
    MustBe("partial_rotary_factor", "1.0 1 null", "positions must turn whole heads"),
    MustBe("attention_factor", "1.0 1 null", "scores are not scaled by positions"),
});
constexpr auto kDefault = std::to_array<ConfigField>({
    MustBe("factor", "1.0 1 null", "positions of type default are not scaled"),
    Ignored("original_max_position_embeddings", "of types that this is not"),
});
constexpr auto kLinear = std::to_array<ConfigField>({
    Read("factor", ""),
    Ignored("original_max_position_embeddings", "of types that this is not"),
});
constexpr auto kLlama3 = std::to_array<ConfigField>({
    Read("factor", ""), Read("low_freq_factor", ""), Read("high_freq_factor", ""),
    Read("original_max_position_embeddings", ""),  // absent: max_position_embeddings
});

struct ScalingType {
  std::string_view name;
  RotaryScaling scaling;
  std::span<const ConfigField> fields;
};
const std::array<ScalingType, 3> kTypes = {{{"default", RotaryScaling::kNone, kDefault},
                                            {"linear", RotaryScaling::kLinear, kLinear},
                                            {"llama3", RotaryScaling::kLlama3, kLlama3}}};

StatusOr<const ScalingType*> TypeOf(const JsonObject& json) {
  const char* field = json.Has("rope_type") ? "rope_type" : "type";
  if (!json.Has(field)) return &kTypes.front();
  SUBMIX_ASSIGN_OR_RETURN(const std::string name, json.Text(field));
  if (json.Has("type") && json.ValueText("type") != json.ValueText(field)) {
    return json.FieldError("type", "differs from \"rope_type\"");
  }
  for (const ScalingType& type : kTypes) {
    if (type.name == name) return &type;
  }
  return json.FieldError(field, Quoted(name) + " is not supported; default, linear and llama3 are");
}

StatusOr<double> Base(const JsonObject& json, std::string_view field) {
  SUBMIX_ASSIGN_OR_RETURN(const double base, json.Number(field));
  if (base > 1 && base < 1e12) return base;
  return json.FieldError(field, "expected a number above 1 and below 1e12");
}

Status ReadLlama3(const JsonObject& json, int context_length, Rotary& rotary) {
  SUBMIX_ASSIGN_OR_RETURN(rotary.low_frequency_factor, json.Number("low_freq_factor"));
  SUBMIX_ASSIGN_OR_RETURN(rotary.high_frequency_factor, json.Number("high_freq_factor"));
  if (!(rotary.low_frequency_factor > 0 &&
        rotary.low_frequency_factor < rotary.high_frequency_factor)) {
    return json.FieldError("low_freq_factor", "expected above 0 and below \"high_freq_factor\"");
  }
  constexpr std::string_view kOriginal = "original_max_position_embeddings";
  rotary.original_context = context_length;
  if (json.Has(kOriginal)) {
    SUBMIX_ASSIGN_OR_RETURN(rotary.original_context, json.Int(kOriginal, 1, kMaxContext));
  }
  return base::OkStatus();
}

// One object of base and scaling; `outer` is the base that stands beside it, `usual` the family's.
StatusOr<Rotary> ReadRotary(const JsonObject& json, std::optional<double> outer, double usual,
                            int context_length) {
  SUBMIX_ASSIGN_OR_RETURN(const ScalingType* const type, TypeOf(json));
  const std::array<std::span<const ConfigField>, 2> tables = {type->fields, kAnyType};
  SUBMIX_RETURN_IF_ERROR(
      CompleteFields(json, tables, "rotary positions of type " + std::string(type->name)).status());
  Rotary rotary;
  rotary.base = outer.value_or(usual);
  if (json.Has(kTheta)) {
    SUBMIX_ASSIGN_OR_RETURN(rotary.base, Base(json, kTheta));
    if (outer && *outer != rotary.base) {
      return json.FieldError(kTheta,
                             "differs from the one outside, and which of them counts depends on "
                             "the version of transformers");
    }
  }
  rotary.scaling = type->scaling;
  if (rotary.scaling == RotaryScaling::kNone) return rotary;
  SUBMIX_ASSIGN_OR_RETURN(rotary.factor, json.Number("factor"));
  if (!(rotary.factor >= 1 && rotary.factor < 1e6)) {
    return json.FieldError("factor", "expected a number from 1 to 1e6");
  }
  if (rotary.scaling == RotaryScaling::kLlama3) {
    SUBMIX_RETURN_IF_ERROR(ReadLlama3(json, context_length, rotary));
  }
  return rotary;
}

StatusOr<std::optional<double>> OuterBase(const JsonObject& fields, std::string_view field) {
  if (!fields.Has(field)) return std::optional<double>();
  SUBMIX_ASSIGN_OR_RETURN(const double base, Base(fields, field));
  return std::optional<double>(base);
}

// What an object within `json` says; nothing if it is absent or empty.
StatusOr<std::optional<Rotary>> Within(const JsonObject& json, std::string_view field,
                                       std::optional<double> outer, double usual,
                                       int context_length) {
  if (!json.Has(field)) return std::optional<Rotary>();
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject object, json.Object(field));
  if (object.fields().empty()) return std::optional<Rotary>();
  SUBMIX_ASSIGN_OR_RETURN(const Rotary rotary, ReadRotary(object, outer, usual, context_length));
  return std::optional<Rotary>(rotary);
}

// rope_parameters, or the part of it that is for these layers.
struct Place {
  const JsonObject* json;
  std::string_view field;
};

// Of layers that see everything, or of all.
StatusOr<Rotary> Everywhere(const JsonObject& fields, const Place& place, double usual,
                            int context_length) {
  SUBMIX_ASSIGN_OR_RETURN(const auto outer, OuterBase(fields, kTheta));
  SUBMIX_ASSIGN_OR_RETURN(const auto scaled,
                          Within(fields, kScaling, outer, usual, context_length));
  SUBMIX_ASSIGN_OR_RETURN(const auto parameters,
                          Within(*place.json, place.field, outer, usual, context_length));
  if (scaled && parameters && *scaled != *parameters) {
    return fields.FieldError(kScaling,
                             "says something else than \"rope_parameters\", and which of them "
                             "counts depends on the version of transformers");
  }
  Rotary plain;
  plain.base = outer.value_or(usual);
  return parameters.value_or(scaled.value_or(plain));
}

// rope_parameters of a Gemma 3: an object for each kind of layer.
StatusOr<JsonObject> ByKindOfLayer(const JsonObject& fields) {
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject none, JsonObject::Parse("{}", ""));
  if (!fields.Has(kParameters)) return none;
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject kinds, fields.Object(kParameters));
  for (const std::string& kind : kinds.fields()) {
    if (kind == kEverywhere || kind == kWindowed) continue;
    return kinds.FieldError(kind, "expected only \"full_attention\" and \"sliding_attention\"");
  }
  return kinds;
}

}  // namespace

StatusOr<RotaryPositions> ReadRotaryPositions(const JsonObject& fields,
                                              const DecoderConfig& config) {
  constexpr double kUsual = 1e4;
  const int context = config.context_length;
  if (config.family != "gemma3_text") {
    SUBMIX_ASSIGN_OR_RETURN(const Rotary all,
                            Everywhere(fields, {&fields, kParameters}, kUsual, context));
    return RotaryPositions{all, all};
  }
  constexpr double kUsualOfFarLayers = 1e6;
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject kinds, ByKindOfLayer(fields));
  RotaryPositions positions;
  SUBMIX_ASSIGN_OR_RETURN(positions.everywhere,
                          Everywhere(fields, {&kinds, kEverywhere}, kUsualOfFarLayers, context));
  SUBMIX_ASSIGN_OR_RETURN(const auto outer, OuterBase(fields, kLocalTheta));
  SUBMIX_ASSIGN_OR_RETURN(const auto windowed, Within(kinds, kWindowed, outer, kUsual, context));
  Rotary plain;
  plain.base = outer.value_or(kUsual);
  positions.windowed = windowed.value_or(plain);
  return positions;
}

}  // namespace submix::model
