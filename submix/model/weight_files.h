// The tensors of a model in Hugging Face's layout: model.safetensors, or the shards that
// model.safetensors.index.json lists.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "submix/base/status.h"
#include "submix/model/safetensors.h"

namespace submix::model {

// Mapped files. Immutable, thread-safe.
class WeightFiles {
 public:
  // Errors: those of SafetensorsFile::Open and JsonObject::Load; kNotFound naming a shard that is
  // not there, or what the directory has instead of safetensors, and the mend; kInvalidArgument
  // naming file and field for an index that names a file outside the directory; kDataLoss for a
  // tensor that is in two shards, or not in the one that the index says.
  static base::StatusOr<std::unique_ptr<WeightFiles>> Open(const std::string& directory);

  // The names, in their directory, of the files that Open reads: model.safetensors, or the index
  // and its shards, sorted. Errors: those of the index.
  static base::StatusOr<std::vector<std::string>> FileNames(const std::string& directory);

  bool contains(std::string_view name) const;
  // All tensors of all files, whatever their types.
  std::vector<std::pair<std::string_view, const TensorView*>> tensors() const;
  // The file of a tensor, or any if there is none of this name.
  const std::string& PathOf(std::string_view name) const { return FileOf(name).path(); }
  // As SafetensorsFile's.
  base::StatusOr<TensorView> Find(std::string_view name,
                                  std::span<const std::int64_t> expected_shape) const;
  // Of all files, sorted.
  std::vector<std::string> paths() const;

 private:
  const SafetensorsFile& FileOf(std::string_view name) const;

  std::vector<std::unique_ptr<SafetensorsFile>> files_;  // at least one
};

}  // namespace submix::model
