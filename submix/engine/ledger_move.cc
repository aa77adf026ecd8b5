#include "submix/engine/ledger_move.h"

#include "submix/base/file_system.h"
#include "submix/engine/deployment.h"

namespace submix::engine {

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

}  // namespace submix::engine
