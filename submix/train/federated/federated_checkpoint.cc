#include "submix/train/federated/federated_checkpoint.h"

#include <array>
#include <variant>

#include <nlohmann/json.hpp>

#include "submix/base/check.h"
#include "submix/model/safetensors.h"

namespace submix::train {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "submix federated checkpoint 1";

std::string StateText(const FederatedState& state) {
  Json history = Json::array();
  for (const accounting::PrivacyEvent& event : state.history) {
    const auto* const run = std::get_if<accounting::SubsampledGaussianRun>(&event.run);
    SUBMIX_CHECK(run != nullptr, "a round of another kind");
    history.push_back({run->sampling_probability, run->noise_multiplier, event.count});
  }
  return Json{{"round", state.round},
              {"order", state.order},
              {"history", history},
              {"recent_accuracies", state.recent_accuracies}}
      .dump();
}

// Throws Json::exception for what is not there or of another type.
FederatedState ParseState(const std::string& text) {
  const Json json = Json::parse(text);
  FederatedState state;
  state.round = json.at("round").get<std::int64_t>();
  state.order = json.at("order").get<double>();
  state.recent_accuracies = json.at("recent_accuracies").get<std::vector<double>>();
  for (const Json& event : json.at("history")) {
    state.history.push_back(
        {accounting::SubsampledGaussianRun{event.at(0).get<double>(), event.at(1).get<double>()},
         event.at(2).get<std::int64_t>()});
  }
  return state;
}

}  // namespace

base::Status SaveFederatedState(const std::string& path, const std::string& identity,
                                const FederatedState& state) {
  const std::array<model::NamedTensor, 1> tensors = {model::NamedTensor{
      "parameters", {static_cast<std::int64_t>(state.parameters.size())}, state.parameters}};
  return model::WriteSafetensors(
      path, tensors, model::Dtype::kF32,
      {{"format", kFormat}, {"identity", identity}, {"state", StateText(state)}});
}

base::StatusOr<FederatedState> LoadFederatedState(const std::string& path,
                                                  const std::string& identity,
                                                  std::size_t num_parameters) {
  SUBMIX_ASSIGN_OR_RETURN(const auto file, model::SafetensorsFile::Open(path));
  if (file->Metadata("format") != kFormat || file->Metadata("identity") != identity) {
    return base::FailedPreconditionError(
        path +
        ": a checkpoint of a training with other options, words or users; give a new "
        "directory, or the options that it began with");
  }
  FederatedState state;
  try {
    state = ParseState(file->Metadata("state"));
  } catch (const Json::exception&) {
    return base::DataLossError(path + ": metadata \"state\" is damaged");
  }
  const std::array<std::int64_t, 1> shape = {static_cast<std::int64_t>(num_parameters)};
  SUBMIX_ASSIGN_OR_RETURN(state.parameters, file->Read("parameters", shape));
  return state;
}

}  // namespace submix::train
