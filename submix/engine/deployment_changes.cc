#include "submix/engine/deployment_changes.h"

#include "submix/base/file_system.h"
#include "submix/engine/deployment.h"
#include "submix/engine/deployment_place.h"
#include "submix/engine/earlier_deployments.h"

namespace submix::engine {
namespace {

// The ledger first. If a crash came between the two writes, it is bound to the new one already. One
// that has ended stays ended.
base::Status RebindLedger(const ledger::DurableLedgerOptions& from,
                          const ledger::DurableLedgerOptions& to) {
  auto ledger = ledger::DurableLedger::Open(from);
  if (ledger.ok()) return (*ledger)->Rebind(to.fingerprint);
  auto ended = ledger::DurableLedger::Open(EndedLedger(from));
  if (ended.ok()) return (*ended)->Rebind(EndedLedger(to).fingerprint);
  for (const auto& rebound : {to, EndedLedger(to)}) {
    if (ledger::DurableLedger::OpenReadOnly(rebound).ok()) return base::OkStatus();
  }
  return ledger.status();
}

// What would stop the next binding, too. Other faults of the ledger are those of opening it.
base::Status CheckNobodyCharges(const ledger::DurableLedgerOptions& options) {
  const base::Status opened = ledger::DurableLedger::Open(options).status();
  return opened.code() == base::StatusCode::kUnavailable ? opened : base::OkStatus();
}

}  // namespace

base::Status MoveLedger(const std::string& deployment_directory, const std::string& location) {
  SUBMIX_ASSIGN_OR_RETURN(DeploymentConfig config, LoadDeploymentConfig(deployment_directory));
  if (!config.ledger_location.empty()) {
    return base::FailedPreconditionError(deployment_directory +
                                         ": its ledger is in a database already");
  }
  const ledger::DurableLedgerOptions options = LedgerOptions(deployment_directory, config);
  SUBMIX_ASSIGN_OR_RETURN(const auto ledger, ledger::DurableLedger::Open(options));
  SUBMIX_RETURN_IF_ERROR(ledger->CopyToPostgres(location));
  config.ledger_location = location;
  SUBMIX_RETURN_IF_ERROR(SaveDeploymentConfig(config, deployment_directory));
  // While it is still open: who has read the old configuration must not come to charge the file.
  SUBMIX_RETURN_IF_ERROR(base::Rename(options.location, options.location + ".moved"));
  for (const char* suffix : {"-wal", "-shm"}) {
    SUBMIX_RETURN_IF_ERROR(base::RemoveAll(options.location + suffix));
  }
  return base::OkStatus();
}

base::Status RebindDeployment(const std::string& deployment_directory) {
  SUBMIX_ASSIGN_OR_RETURN(const DeploymentConfig old_config,
                          LoadDeploymentConfig(deployment_directory));
  SUBMIX_ASSIGN_OR_RETURN(const auto ensemble, OpenEnsembleOf(deployment_directory, old_config));
  DeploymentConfig new_config = old_config;
  new_config.ensemble_fingerprint = ensemble.fingerprint();
  if (new_config.ensemble_fingerprint == old_config.ensemble_fingerprint) {
    return CheckNobodyCharges(LedgerOptions(deployment_directory, old_config));
  }
  if (ensemble.manifest().parent_sha256 != base::ToHex(old_config.ensemble_fingerprint)) {
    return base::FailedPreconditionError(
        deployment_directory +
        ": its ensemble is not the next generation of the one it was made on; "
        "restore the ensemble");
  }
  SUBMIX_RETURN_IF_ERROR(RebindLedger(LedgerOptions(deployment_directory, old_config),
                                      LedgerOptions(deployment_directory, new_config)));
  return SaveDeploymentConfig(new_config, deployment_directory);
}

}  // namespace submix::engine
