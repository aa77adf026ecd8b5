#include "submix/engine/replaced_deployment.h"

#include <memory>
#include <vector>

#include "submix/base/file_system.h"
#include "submix/engine/deployment.h"
#include "submix/engine/earlier_deployments.h"

namespace submix::engine {
namespace {

using base::Status;
using base::StatusOr;

StatusOr<bool> HasCharged(const ledger::DurableLedger& ledger, const DeploymentConfig& config,
                          bool has_ended) {
  if (!config.earlier.lineages.empty()) {
    // Its accounts began with something: only a chain without any other record says that nothing
    // came to it.
    SUBMIX_ASSIGN_OR_RETURN(const auto head, ledger.head());
    return head.records > (has_ended ? 2 : 1);
  }
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<ledger::Account> accounts, ledger.Accounts());
  for (const ledger::Account& account : accounts) {
    if (account.spent > accounting::FixedNats()) return true;
  }
  return false;
}

std::string FirstFreeName(const std::string& directory) {
  for (int number = 1;; ++number) {
    const std::string name = directory + ".replaced-" + std::to_string(number);
    if (!base::FileExists(name)) return name;
  }
}

}  // namespace

Status RemoveUncharged(const std::string& deployment_directory, ensemble::Manifest& manifest) {
  SUBMIX_ASSIGN_OR_RETURN(const DeploymentConfig config,
                          LoadDeploymentConfig(deployment_directory));
  SUBMIX_ASSIGN_OR_RETURN(const OpenedToRead opened, OpenToRead(deployment_directory, config));
  const auto listed = std::erase_if(
      manifest.deployments, [&](const auto& entry) { return entry.lineage == config.lineage; });
  if (listed == 0 && !opened.has_ended) {
    return base::FailedPreconditionError(
        deployment_directory +
        ": not the deployment of this ensemble; --replace takes back what `submix deploy` made of "
        "the same one");
  }
  SUBMIX_ASSIGN_OR_RETURN(const bool has_charged,
                          HasCharged(*opened.ledger, config, opened.has_ended));
  if (!has_charged) return base::OkStatus();
  return base::FailedPreconditionError(
      deployment_directory +
      ": has charged for its answers, and what is spent stays spent; go on with it, or train an "
      "ensemble anew and deploy that with --after " +
      deployment_directory);
}

Status PutAside(const std::string& deployment_directory, const ensemble::Manifest& manifest,
                const std::string& ensemble_directory) {
  SUBMIX_ASSIGN_OR_RETURN(const DeploymentConfig config,
                          LoadDeploymentConfig(deployment_directory));
  SUBMIX_RETURN_IF_ERROR(EndDeployment(deployment_directory, config));
  // Nobody charges it from here on; what was charged since the first look counts.
  ensemble::Manifest now = manifest;
  SUBMIX_RETURN_IF_ERROR(RemoveUncharged(deployment_directory, now));
  SUBMIX_RETURN_IF_ERROR(ensemble::SaveManifest(manifest, ensemble_directory));
  return base::Rename(deployment_directory, FirstFreeName(deployment_directory));
}

}  // namespace submix::engine
