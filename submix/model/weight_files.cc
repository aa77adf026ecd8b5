#include "submix/model/weight_files.h"

#include <map>
#include <set>
#include <utility>

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
bool HasShards(const std::string& directory) {
  return !base::FileExists(SingleFile(directory)) && base::FileExists(IndexFile(directory));
}

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
  if (!HasShards(directory)) {
    SUBMIX_ASSIGN_OR_RETURN(auto file, SafetensorsFile::Open(SingleFile(directory)));
    weights->files_.push_back(std::move(file));
    return weights;
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto index, LoadIndex(IndexFile(directory)));
  for (const std::string& shard : ShardsOf(index)) {
    SUBMIX_ASSIGN_OR_RETURN(auto file, SafetensorsFile::Open(base::JoinPath(directory, shard)));
    weights->files_.push_back(std::move(file));
  }
  SUBMIX_RETURN_IF_ERROR(CheckShards(weights->files_, index, directory));
  return weights;
}

StatusOr<std::vector<std::string>> WeightFiles::FileNames(const std::string& directory) {
  if (!HasShards(directory)) return std::vector<std::string>{std::string(kSingleFile)};
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
