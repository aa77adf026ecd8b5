#include "submix/ensemble/training_cost.h"

#include <cmath>
#include <limits>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/base/json_object.h"
#include "submix/base/number_text.h"

namespace submix::ensemble {
namespace {

constexpr int kFormat = 1;

}  // namespace

std::string TrainingCostJson(const TrainingCost& cost, double epsilon, double delta) {
  const auto number = [](double value) { return base::NumberText(value, 17); };
  const std::pair<const char*, std::string> fields[] = {
      {"format", std::to_string(kFormat)},
      {"mechanism", base::JsonText(cost.mechanism)},
      {"unit", cost.unit_is_user ? "\"user\"" : "\"document\""},
      {"adjacency", "\"present or absent\""},
      {"empty_users", cost.empty_is_absent ? "\"absent\"" : "\"present\""},
      {"sampling_probability", number(cost.sampling_probability)},
      {"noise_multiplier", number(cost.noise_multiplier)},
      {"steps", std::to_string(cost.steps)},
      {"delta", number(delta)},
      {"epsilon", std::isfinite(epsilon) ? number(epsilon) : "null"}};
  std::string text;
  for (const auto& [name, value] : fields) {
    text += (text.empty() ? "{\n  \"" : ",\n  \"") + std::string(name) + "\": " + value;
  }
  return text + "\n}\n";
}

base::StatusOr<std::optional<TrainingCost>> LoadTrainingCost(const std::string& model_directory) {
  const std::string path = base::JoinPath(model_directory, kTrainingCostFile);
  if (!base::FileExists(path)) return std::optional<TrainingCost>();
  SUBMIX_ASSIGN_OR_RETURN(const base::JsonObject json, base::JsonObject::Load(path));
  SUBMIX_ASSIGN_OR_RETURN(const int format, json.Int("format", 1, std::numeric_limits<int>::max()));
  SUBMIX_RETURN_IF_ERROR(base::CheckNotNewer(path, format, kFormat));
  TrainingCost cost;
  SUBMIX_ASSIGN_OR_RETURN(cost.mechanism, json.Text("mechanism"));
  SUBMIX_ASSIGN_OR_RETURN(const std::string unit, json.Text("unit"));
  if (unit != "user" && unit != "document") {
    return json.FieldError("unit", "expected user or document");
  }
  cost.unit_is_user = unit == "user";
  SUBMIX_ASSIGN_OR_RETURN(cost.sampling_probability, json.Number("sampling_probability"));
  if (!(cost.sampling_probability >= 0 && cost.sampling_probability <= 1)) {
    return json.FieldError("sampling_probability", "expected 0 to 1");
  }
  SUBMIX_ASSIGN_OR_RETURN(cost.noise_multiplier, json.Number("noise_multiplier"));
  if (!(cost.noise_multiplier >= 0)) {
    return json.FieldError("noise_multiplier", "expected 0 or more");
  }
  if (cost.noise_multiplier == 0) {
    return base::FailedPreconditionError(
        path +
        ": this model was trained on private text without noise; nothing can be promised to its "
        "users, so it is nobody's public model");
  }
  SUBMIX_ASSIGN_OR_RETURN(cost.steps, json.Integer("steps", 0, std::int64_t{1} << 53));
  std::string empty_users = "present";
  SUBMIX_RETURN_IF_ERROR(json.ReadIfPresent("empty_users", empty_users));
  cost.empty_is_absent = empty_users == "absent";
  return std::optional<TrainingCost>(cost);
}

bool HasTrainedPublicModel(const Manifest& manifest) {
  return manifest.file_sha256.contains(std::string("public/") + kTrainingCostFile);
}

}  // namespace submix::ensemble
