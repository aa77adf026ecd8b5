#include "submix/workbench/ensembles/forgotten_user.h"

#include <utility>

#include "submix/base/file_system.h"
#include "submix/contexts/context_records.h"
#include "submix/corpus/partition.h"
#include "submix/engine/deployment.h"
#include "submix/ensemble/batches.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/preparation/user_list.h"

namespace submix::workbench {

using base::Status;
using base::StatusOr;
using ensemble::OpenedEnsemble;

StatusOr<ForgetRequest> InItsBatch(ForgetRequest request) {
  SUBMIX_ASSIGN_OR_RETURN(const auto batches, ensemble::BatchesIn(request.ensemble));
  if (batches.empty()) return request;
  SUBMIX_ASSIGN_OR_RETURN(const auto key,
                          corpus::LoadPartitionKey(ensemble::PartitionKeyPath(batches.front())));
  const auto count = static_cast<int>(batches.size());
  const int batch = corpus::BatchOf(key, request.user, count);
  request.ensemble = batches[static_cast<std::size_t>(batch)];
  // The directory of all their deployments, or already that of this batch's.
  if (!request.deployment.empty() &&
      !base::FileExists(engine::DeploymentConfigPath(request.deployment))) {
    request.deployment = ensemble::BatchDirectory(request.deployment, batch, count);
  }
  return request;
}

Status CheckNamesItsDeployment(const ForgetRequest& request, const OpenedEnsemble& ensemble) {
  if (ensemble.manifest().deployments.empty()) return base::OkStatus();
  const ensemble::DeploymentEntry& entry = ensemble.manifest().deployments.front();
  if (request.deployment.empty()) {
    return base::InvalidArgumentError(
        ensemble.directory() + ": deployed as " + entry.name +
        "; give its directory with --deployment, so that the same ledger goes on");
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto config, engine::LoadDeploymentConfig(request.deployment));
  if (config.lineage == entry.lineage) return base::OkStatus();
  return base::FailedPreconditionError(request.deployment + ": a deployment of another ensemble");
}

StatusOr<bool> WasHeldOut(const ForgetRequest& request, const OpenedEnsemble& ensemble) {
  const std::string& directory = ensemble.directory();
  SUBMIX_ASSIGN_OR_RETURN(const auto listed, ensemble::UsersOnList(directory, {request.user}));
  if (!listed.has_value() || !listed->empty()) return false;
  const Status nobody = base::NotFoundError(
      directory +
      ": no member reads a record of this user: check the key, byte by byte; with --corpus, the "
      "one that the ensemble was made of, held-out users are told from wrong keys");
  if (request.corpus.path.empty()) return nobody;
  SUBMIX_ASSIGN_OR_RETURN(const bool is_there, corpus::HasUser(request.corpus, request.user));
  if (!is_there) {
    return base::NotFoundError(request.corpus.path +
                               ": no record of this user; check the key, and give the corpus that "
                               "the ensemble was made of");
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto key,
                          corpus::LoadPartitionKey(ensemble::PartitionKeyPath(directory)));
  const ensemble::Manifest& manifest = ensemble.manifest();
  const corpus::Placement place = corpus::PlaceUser(
      key, request.user, {manifest.num_parts, manifest.halves, manifest.heldout_fraction});
  if (!place.is_heldout) return nobody;
  return true;
}

Status MoveRecords(const std::string& mark, const std::string& old_directory,
                   const std::string& new_directory) {
  SUBMIX_ASSIGN_OR_RETURN(const auto remaining,
                          contexts::RecordsWithoutUser(mark, old_directory, new_directory));
  return contexts::SaveRecords(remaining.records, new_directory);
}

}  // namespace submix::workbench
