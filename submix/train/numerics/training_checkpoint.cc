#include "submix/train/numerics/training_checkpoint.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "submix/base/file_system.h"
#include "submix/model/safetensors.h"

namespace submix::train {
namespace {

constexpr const char* kFormat = "submix training checkpoint 1";

base::Status ReadInto(const model::SafetensorsFile& file, const char* name,
                      std::span<float> values) {
  const std::array<std::int64_t, 1> shape = {static_cast<std::int64_t>(values.size())};
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<float> read, file.Read(name, shape));
  std::ranges::copy(read, values.begin());
  return base::OkStatus();
}

}  // namespace

base::Status SaveTrainingCheckpoint(const std::string& path, const std::string& identity,
                                    std::span<const float> parameters, const AdamWState& state) {
  const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(parameters.size())};
  const std::array<model::NamedTensor, 3> tensors = {
      model::NamedTensor{"parameters", shape, parameters},
      model::NamedTensor{"first_moment", shape, state.first_moment},
      model::NamedTensor{"second_moment", shape, state.second_moment}};
  return model::WriteSafetensors(
      path, tensors, model::Dtype::kF32,
      {{"format", kFormat}, {"identity", identity}, {"step", std::to_string(state.step)}});
}

base::Status LoadTrainingCheckpoint(const std::string& path, const std::string& identity,
                                    std::span<float> parameters, AdamWState& state) {
  if (!base::FileExists(path)) return base::OkStatus();
  SUBMIX_ASSIGN_OR_RETURN(const std::unique_ptr<model::SafetensorsFile> file,
                          model::SafetensorsFile::Open(path));
  if (file->Metadata("format") != kFormat || file->Metadata("identity") != identity) {
    return base::FailedPreconditionError(
        path +
        ": a checkpoint of a training with other text, options, seed or public model; "
        "delete its directory to start anew");
  }
  const std::string step = file->Metadata("step");
  const auto parsed = std::from_chars(step.data(), step.data() + step.size(), state.step);
  if (parsed.ec != std::errc() || parsed.ptr != step.data() + step.size() || state.step < 0) {
    return base::DataLossError(path + ": metadata \"step\" is not a number");
  }
  SUBMIX_RETURN_IF_ERROR(ReadInto(*file, "parameters", parameters));
  SUBMIX_RETURN_IF_ERROR(ReadInto(*file, "first_moment", state.first_moment));
  return ReadInto(*file, "second_moment", state.second_moment);
}

}  // namespace submix::train
