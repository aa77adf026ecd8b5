#include "submix/model/weight_files.h"

#include <algorithm>
#include <map>
#include <set>

#include "submix/base/file_system.h"
#include "submix/base/json_object.h"

namespace submix::model {
namespace {

using base::Quoted;
using base::Status;
using base::StatusOr;

constexpr std::string_view kSingleFile = "model.safetensors";
constexpr std::string_view kIndexFile = "model.safetensors.index.json";

std::string SingleFile(const std::string& directory) {
  return base::JoinPath(directory, kSingleFile);
}
std::string IndexFile(const std::string& directory) {
  return base::JoinPath(directory, kIndexFile);
}
bool HasSingleFile(const std::string& directory) { return base::FileExists(SingleFile(directory)); }

// Where the index says that each tensor is. Shards are files of the same directory.
StatusOr<std::map<std::string, std::string>> LoadIndex(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const auto json, base::JsonObject::Load(path));
  SUBMIX_ASSIGN_OR_RETURN(auto shards, json.TextMap("weight_map"));
  if (shards.empty()) return json.FieldError("weight_map", "names no tensor");
  for (const auto& [tensor, shard] : shards) {
    if (shard.empty() || shard.find('/') != std::string::npos || shard.starts_with('.')) {
      return json.FieldError("weight_map", Quoted(shard) + " is no file of this directory");
    }
  }
  return shards;
}

// Other formats of weights, by how their files' names end, and how they become safetensors.
struct OtherFormat {
  std::string_view ending;
  const char* mend;
};
constexpr const char* kSaveAgain =
    "write it anew: AutoModelForCausalLM.from_pretrained(DIRECTORY).save_pretrained(NEW)";
constexpr OtherFormat kOtherFormats[] = {
    {".bin", kSaveAgain},
    {".pt", "convert it to Hugging Face's layout first"},
    {".pth", "convert it to Hugging Face's layout first"},
    {".gguf",
     "write it anew: AutoModelForCausalLM.from_pretrained(DIRECTORY, gguf_file=NAME)"
     ".save_pretrained(NEW)"},
    {".h5", kSaveAgain},
    {".msgpack", kSaveAgain},
    {"adapter_model.safetensors", "this is an adapter: the model that it adapts is needed"},
    {".safetensors", "it is not in Hugging Face's layout, or its index is missing"},
};

Status NoWeightsError(const std::string& directory) {
  const std::string missing = SingleFile(directory) + ": missing";
  const base::StatusOr<std::vector<std::string>> names = base::ListDirectory(directory);
  if (!names.ok()) return base::NotFoundError(missing);
  for (const OtherFormat& format : kOtherFormats) {
    const auto found = std::ranges::find_if(
        *names, [&](const std::string& name) { return name.ends_with(format.ending); });
    if (found == names->end()) continue;
    return base::NotFoundError(missing + ", and " + Quoted(*found) + " is not read; " +
                               format.mend);
  }
  return base::NotFoundError(missing + "; nor is there a " + std::string(kIndexFile));
}

std::set<std::string> ShardsOf(const std::map<std::string, std::string>& index) {
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : index) shards.insert(shard);
  return shards;
}

Status CheckShards(const std::vector<std::unique_ptr<SafetensorsFile>>& files,
                   const std::map<std::string, std::string>& index, const std::string& directory) {
  std::set<std::string_view> seen;
  for (const auto& file : files) {
    for (const auto& [name, tensor] : file->tensors()) {
      if (!seen.insert(name).second) {
        return base::DataLossError(file->path() + ": tensor " + Quoted(name) +
                                   " is in another shard, too");
      }
      const auto listed = index.find(name);
      if (listed != index.end() && base::JoinPath(directory, listed->second) != file->path()) {
        return base::DataLossError(file->path() + ": has tensor " + Quoted(name) +
                                   ", which the index looks for in " + listed->second);
      }
    }
  }
  for (const auto& [name, shard] : index) {
    if (seen.contains(name)) continue;
    return base::DataLossError(base::JoinPath(directory, shard) + ": has no tensor " +
                               Quoted(name) + ", although the index says so");
  }
  return base::OkStatus();
}

}  // namespace

StatusOr<std::unique_ptr<WeightFiles>> WeightFiles::Open(const std::string& directory) {
  auto weights = std::make_unique<WeightFiles>();
  if (HasSingleFile(directory)) {
    SUBMIX_ASSIGN_OR_RETURN(auto file, SafetensorsFile::Open(SingleFile(directory)));
    weights->files_.push_back(std::move(file));
    return weights;
  }
  if (!base::FileExists(IndexFile(directory))) return NoWeightsError(directory);
  SUBMIX_ASSIGN_OR_RETURN(const auto index, LoadIndex(IndexFile(directory)));
  for (const std::string& shard : ShardsOf(index)) {
    SUBMIX_ASSIGN_OR_RETURN(auto file, SafetensorsFile::Open(base::JoinPath(directory, shard)));
    weights->files_.push_back(std::move(file));
  }
  SUBMIX_RETURN_IF_ERROR(CheckShards(weights->files_, index, directory));
  return weights;
}

StatusOr<std::vector<std::string>> WeightFiles::FileNames(const std::string& directory) {
  if (HasSingleFile(directory)) return std::vector<std::string>{std::string(kSingleFile)};
  if (!base::FileExists(IndexFile(directory))) return NoWeightsError(directory);
  SUBMIX_ASSIGN_OR_RETURN(const auto index, LoadIndex(IndexFile(directory)));
  const std::set<std::string> shards = ShardsOf(index);
  std::vector<std::string> names(shards.begin(), shards.end());
  names.emplace_back(kIndexFile);
  return names;
}

const SafetensorsFile& WeightFiles::FileOf(std::string_view name) const {
  for (const auto& file : files_) {
    if (file->tensors().contains(name)) return *file;
  }
  return *files_.front();  // says that it has no such tensor
}

bool WeightFiles::contains(std::string_view name) const {
  return FileOf(name).tensors().contains(name);
}

std::vector<std::pair<std::string_view, const TensorView*>> WeightFiles::tensors() const {
  std::vector<std::pair<std::string_view, const TensorView*>> tensors;
  for (const auto& file : files_) {
    for (const auto& [name, tensor] : file->tensors()) tensors.emplace_back(name, &tensor);
  }
  return tensors;
}

StatusOr<TensorView> WeightFiles::Find(std::string_view name,
                                       std::span<const std::int64_t> expected_shape) const {
  return FileOf(name).Find(name, expected_shape);
}

std::vector<std::string> WeightFiles::paths() const {
  std::vector<std::string> paths;
  for (const auto& file : files_) paths.push_back(file->path());
  return paths;
}

}  // namespace submix::model
