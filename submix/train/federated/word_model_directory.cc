#include "submix/train/federated/word_model_directory.h"

#include <vector>

#include <nlohmann/json.hpp>

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/model/safetensors.h"

namespace submix::train {

base::Status SaveWordModel(const std::string& directory, const WordLstmShape& shape,
                           const WordVocabulary& vocabulary, std::span<const float> parameters) {
  SUBMIX_CHECK(vocabulary.size() == shape.vocab_size, "a vocabulary of another model");
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(directory));
  const nlohmann::ordered_json config = {{"model_type", "submix-word-lstm"},
                                         {"vocab_size", shape.vocab_size},
                                         {"width", shape.width},
                                         {"units", shape.units}};
  SUBMIX_RETURN_IF_ERROR(
      base::WriteFile(base::JoinPath(directory, "config.json"), config.dump(2) + "\n"));
  SUBMIX_RETURN_IF_ERROR(vocabulary.Save(base::JoinPath(directory, "words.txt")));
  std::vector<model::NamedTensor> tensors;
  for (const ParameterVector& vector : WordLstmVectors(shape)) {
    tensors.push_back({vector.name, vector.shape, parameters.subspan(vector.begin, vector.size())});
  }
  return model::WriteSafetensors(base::JoinPath(directory, "model.safetensors"), tensors,
                                 model::Dtype::kF32, {{"format", "pt"}});
}

}  // namespace submix::train
