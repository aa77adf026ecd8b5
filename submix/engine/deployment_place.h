// Where a deployment and its ensemble are. Each names the other; this is what follows when one of
// them is moved or copied.
#pragma once

#include <string>

#include "submix/base/status.h"
#include "submix/engine/deployment.h"
#include "submix/ensemble/manifest.h"

namespace submix::engine {

// `named`, the ensemble that deployment.json names; if it is not there, the directory of that name
// beside the deployment, where both were moved together; `named` if neither is there.
std::string EnsemblePlace(const std::string& deployment_directory, const std::string& named);

// The deployment's ensemble. Errors: LoadManifest's, and kNotFound that says how to name a place
// that it was moved to.
base::StatusOr<ensemble::OpenedEnsemble> OpenEnsembleOf(const std::string& deployment_directory,
                                                        const DeploymentConfig& config);

// A copy of a directory with a ledger would be a second budget for the same users (contract 2).
// Looks at the place that the manifest names and, if the deployment is elsewhere, at the
// directories beside it; a copy on another host, or unmounted, is not seen. A ledger in a database
// is one for all copies. Errors: kFailedPrecondition naming both directories. Requires: the
// manifest lists the deployment.
base::Status CheckIsNoCopy(const std::string& deployment_directory, const DeploymentConfig& config,
                           const ensemble::Manifest& manifest);

// Writes down where both are now, in deployment.json and in the manifest. `ensemble_directory`
// empty: where EnsemblePlace finds it. Errors: kFailedPrecondition if it is not the ensemble of the
// deployment, or if the deployment is still where the manifest names it, of which this is a copy;
// kUnavailable if the ensemble is being written.
base::Status Relocate(const std::string& deployment_directory,
                      const std::string& ensemble_directory);

}  // namespace submix::engine
