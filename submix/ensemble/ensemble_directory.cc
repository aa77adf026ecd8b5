#include "submix/ensemble/ensemble_directory.h"

#include <filesystem>

namespace submix::ensemble {

std::vector<std::string> EnsemblesBeside(const std::string& ensemble_directory) {
  namespace fs = std::filesystem;
  const fs::path own = fs::absolute(ensemble_directory + "/").lexically_normal().parent_path();
  std::vector<std::string> found;
  const auto names = base::ListDirectory(own.parent_path());
  if (!names.ok()) return found;
  for (const std::string& name : *names) {
    const std::string directory = own.parent_path() / name;
    if (name == own.filename().string() || !base::FileExists(ManifestPath(directory))) continue;
    found.push_back(directory);
  }
  return found;
}

}  // namespace submix::ensemble
