#include "submix/ensemble/ensemble_directory.h"

#include <filesystem>

#include "submix/ensemble/batches.h"

namespace submix::ensemble {

std::vector<std::string> EnsemblesBeside(const std::string& ensemble_directory) {
  namespace fs = std::filesystem;
  const fs::path own = fs::absolute(ensemble_directory + "/").lexically_normal().parent_path();
  std::vector<std::string> found;
  const auto names = base::ListDirectory(own.parent_path());
  if (!names.ok()) return found;
  for (const std::string& name : *names) {
    const std::string directory = own.parent_path() / name;
    if (name == own.filename().string()) continue;
    if (base::FileExists(ManifestPath(directory))) found.push_back(directory);
    const auto batches = BatchesIn(directory);
    if (batches.ok()) found.insert(found.end(), batches->begin(), batches->end());
  }
  return found;
}

}  // namespace submix::ensemble
