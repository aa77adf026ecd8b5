#include "submix/ensemble/training_cost.h"

#include <limits>

#include "submix/base/file_system.h"
#include "submix/model/json_object.h"

namespace submix::ensemble {

base::StatusOr<std::optional<TrainingCost>> LoadTrainingCost(const std::string& model_directory) {
  const std::string path = base::JoinPath(model_directory, kTrainingCostFile);
  if (!base::PosixFileSystem().Exists(path)) return std::optional<TrainingCost>();
  SUBMIX_ASSIGN_OR_RETURN(const model::JsonObject json, model::JsonObject::Load(path));
  SUBMIX_ASSIGN_OR_RETURN(const int format, json.Int("format", 1, std::numeric_limits<int>::max()));
  if (format > 1) {
    return base::FailedPreconditionError(path + ": written by a newer Submix");
  }
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
  if (!(cost.noise_multiplier > 0)) {
    return json.FieldError("noise_multiplier", "expected more than 0");
  }
  SUBMIX_ASSIGN_OR_RETURN(cost.steps, json.Integer("steps", 0, std::int64_t{1} << 53));
  return std::optional<TrainingCost>(cost);
}

}  // namespace submix::ensemble
