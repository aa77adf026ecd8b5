#include "submix/train/fine_tuning/released_model.h"

#include <algorithm>
#include <vector>

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/preparation/ensemble_preparation.h"
#include "submix/ensemble/training_cost.h"
#include "submix/model/decoder_tensors.h"
#include "submix/model/lora_adapter.h"
#include "submix/train/models/decoder_weights.h"
#include "submix/train/numerics/torch_errors.h"

namespace submix::train {
namespace {

using base::Status;

// Of a weight that lies as [inputs, outputs]: += scaling * A^T B^T; of others the transpose.
void AddModule(const model::LoraModule& module, const model::LoraAdapter& adapter, bool is_conv1d,
               at::Tensor& weight) {
  const at::Tensor a = torch::tensor(module.a).view({adapter.config.rank, module.inputs});
  const at::Tensor b = torch::tensor(module.b).view({module.outputs, adapter.config.rank});
  weight.add_(is_conv1d ? at::matmul(a.t(), b.t()) : at::matmul(b, a), adapter.scaling());
}

Status MergeAdapter(const std::string& public_directory, const std::string& member_directory,
                    const std::string& directory) {
  SUBMIX_ASSIGN_OR_RETURN(PublicModel merged,
                          LoadPublicModel(public_directory, Precision::kFloat32));
  SUBMIX_ASSIGN_OR_RETURN(const model::LoraAdapter adapter,
                          model::LoadLoraAdapter(member_directory, merged.config));
  const ParameterVectors vectors = WeightVectors(merged.config);
  for (const model::LoraModule& module : adapter.modules) {
    const auto adapted =
        std::ranges::find(vectors, module.name + ".weight", &ParameterVector::name);
    SUBMIX_CHECK(adapted != vectors.end(), "an adapter of no linear layer");
    AddModule(module, adapter, model::HasConv1d(merged.config),
              merged.tensors[static_cast<std::size_t>(adapted - vectors.begin())]);
  }
  std::vector<float> values;
  for (const at::Tensor& tensor : merged.tensors) {
    const float* begin = tensor.data_ptr<float>();
    values.insert(values.end(), begin, begin + tensor.numel());
  }
  return SaveModel(merged, values, directory);
}

// config.json and model.safetensors of the trained model.
Status WriteMergedModel(const std::string& public_directory, const std::string& member_directory,
                        const std::string& directory) {
  if (!base::FileExists(base::JoinPath(member_directory, "adapter_config.json"))) {
    for (const char* name : {"config.json", "model.safetensors"}) {
      SUBMIX_RETURN_IF_ERROR(ensemble::CopyFiles(base::JoinPath(member_directory, name),
                                                 base::JoinPath(directory, name)));
    }
    return base::OkStatus();
  }
  return CatchTorchErrors(
      [&] { return MergeAdapter(public_directory, member_directory, directory); });
}

// A PEFT adapter of the model that changes nothing.
Status WriteNullAdapter(const std::string& public_directory, const std::string& directory) {
  SUBMIX_ASSIGN_OR_RETURN(
      const auto config, model::LoadDecoderConfig(base::JoinPath(public_directory, "config.json")));
  model::LoraAdapter adapter;
  adapter.config.rank = 1;
  adapter.config.lora_alpha = 1;
  adapter.config.target_modules = model::AttentionInputs(config);
  adapter.config.layers = {config.layers - 1};
  SUBMIX_ASSIGN_OR_RETURN(adapter.modules, model::AdaptedModules(config, adapter.config));
  for (model::LoraModule& module : adapter.modules) {
    module.a.assign(static_cast<std::size_t>(module.inputs), 0.0f);
    module.b.assign(static_cast<std::size_t>(module.outputs), 0.0f);
  }
  return model::SaveLoraAdapter(adapter, config, directory);
}

}  // namespace

Status WriteReleasedEnsemble(const std::string& public_directory,
                             const std::string& member_directory, ensemble::Manifest manifest,
                             const std::string& cost_json, const std::string& directory) {
  const std::string unfinished = directory + ".partial";
  const std::string model = ensemble::PublicDirectory(unfinished);
  SUBMIX_RETURN_IF_ERROR(base::RemoveAll(unfinished));
  SUBMIX_RETURN_IF_ERROR(ensemble::CopyTokenizer(public_directory, model));
  SUBMIX_RETURN_IF_ERROR(WriteMergedModel(public_directory, member_directory, model));
  SUBMIX_RETURN_IF_ERROR(
      base::WriteFile(base::JoinPath(model, ensemble::kTrainingCostFile), cost_json));
  const std::string member = ensemble::MemberPath(unfinished, manifest.members.front());
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(member));
  SUBMIX_RETURN_IF_ERROR(WriteNullAdapter(public_directory, member));
  manifest.hyper_parameters["released"] = "yes";
  SUBMIX_RETURN_IF_ERROR(ensemble::HashFiles(manifest, unfinished));
  SUBMIX_RETURN_IF_ERROR(ensemble::SaveManifest(manifest, unfinished));
  SUBMIX_RETURN_IF_ERROR(base::RemoveAll(directory));
  return base::Rename(unfinished, directory);
}

}  // namespace submix::train
