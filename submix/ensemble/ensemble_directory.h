// Where things lie in an ensemble directory, and its writers' lock. Layout:
// docs/manifest_format.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "submix/base/file_system.h"
#include "submix/base/status.h"
#include "submix/ensemble/manifest.h"

namespace submix::ensemble {

inline std::string ManifestPath(const std::string& ensemble_directory) {
  return base::JoinPath(ensemble_directory, "manifest.json");
}
// The public model: config.json, model.safetensors, the tokenizer's files.
inline std::string PublicDirectory(const std::string& ensemble_directory) {
  return base::JoinPath(ensemble_directory, "public");
}
// One member's adapter: adapter_config.json, adapter_model.safetensors.
inline std::string MemberPath(const std::string& ensemble_directory, const MemberEntry& member) {
  return base::JoinPath(ensemble_directory, member.directory);
}
inline std::string PartitionKeyPath(const std::string& ensemble_directory) {
  return base::JoinPath(ensemble_directory, "partition.key");
}

// Held while the directory is changed (train, forget, deploy), so that two writers never meet;
// readers need no lock, since every file is replaced atomically. Errors: kUnavailable if somebody
// else writes; kNotFound if there is no such directory.
inline base::StatusOr<std::unique_ptr<base::FileLock>> LockEnsemble(
    const std::string& ensemble_directory) {
  auto lock = base::LockFile(base::JoinPath(ensemble_directory, "ensemble.lock"));
  if (lock.status().code() == base::StatusCode::kUnavailable) {
    return base::UnavailableError(ensemble_directory +
                                  ": another train, forget or deploy is changing this ensemble; "
                                  "run it again when that has ended");
  }
  return lock;
}

// Ensembles beside this one: directories of the same parent that hold a manifest, and the batches
// in such directories (batches.h).
std::vector<std::string> EnsemblesBeside(const std::string& ensemble_directory);

}  // namespace submix::ensemble
