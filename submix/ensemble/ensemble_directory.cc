#include "submix/ensemble/ensemble_directory.h"

namespace submix::ensemble {

base::StatusOr<std::unique_ptr<base::FileLock>> LockEnsemble(
    const std::string& ensemble_directory) {
  auto lock = base::LockFile(base::JoinPath(ensemble_directory, "ensemble.lock"));
  if (lock.status().code() == base::StatusCode::kUnavailable) {
    return base::UnavailableError(ensemble_directory +
                                  ": another train, forget or deploy is changing this ensemble; "
                                  "run it again when that has ended");
  }
  return lock;
}

}  // namespace submix::ensemble
