#include "submix/engine/rebinding.h"

#include "submix/engine/deployment.h"
#include "submix/ensemble/manifest.h"

namespace submix::engine {

base::Status RebindDeployment(const std::string& deployment_directory) {
  SUBMIX_ASSIGN_OR_RETURN(const DeploymentConfig old_config,
                          LoadDeploymentConfig(deployment_directory));
  SUBMIX_ASSIGN_OR_RETURN(const auto manifest,
                          ensemble::LoadManifest(old_config.ensemble_directory));
  DeploymentConfig new_config = old_config;
  new_config.ensemble_fingerprint = ensemble::EnsembleFingerprint(manifest);
  if (new_config.ensemble_fingerprint == old_config.ensemble_fingerprint) {
    return base::OkStatus();
  }
  if (manifest.parent_sha256 != base::ToHex(old_config.ensemble_fingerprint)) {
    return base::FailedPreconditionError(
        deployment_directory +
        ": its ensemble is not the next generation of the one it was made on; "
        "restore the ensemble");
  }
  // The ledger first. If a crash came between the two writes, it is bound to the new one already.
  auto ledger = ledger::DurableLedger::Open(LedgerOptions(deployment_directory, old_config));
  if (ledger.ok()) {
    SUBMIX_RETURN_IF_ERROR((*ledger)->Rebind(DeploymentFingerprint(new_config)));
  } else {
    const auto rebound =
        ledger::DurableLedger::OpenReadOnly(LedgerOptions(deployment_directory, new_config));
    if (!rebound.ok()) return ledger.status();
  }
  return SaveDeploymentConfig(new_config, deployment_directory);
}

}  // namespace submix::engine
