#include "submix/engine/deployment_place.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "submix/base/file_system.h"
#include "submix/ensemble/ensemble_directory.h"

namespace submix::engine {
namespace {

using base::Status;
using base::StatusOr;

std::string ParentOf(const std::string& directory) {
  return std::filesystem::path(directory).parent_path();
}

bool IsSameDirectory(const std::string& a, const std::string& b) {
  std::error_code error;
  return std::filesystem::equivalent(a, b, error);
}

bool HoldsFileLedgerOf(const std::string& directory, const std::string& lineage) {
  const auto config = LoadDeploymentConfig(directory);
  return config.ok() && config->lineage == lineage && config->ledger_location.empty();
}

template <typename Manifest>
auto EntryOf(Manifest& manifest, const std::string& lineage) {
  return std::ranges::find(manifest.deployments, lineage, &ensemble::DeploymentEntry::lineage);
}

Status CheckNamedPlace(const std::string& here, const std::string& named,
                       const std::string& lineage) {
  if (named.empty() || IsSameDirectory(named, here) || !HoldsFileLedgerOf(named, lineage)) {
    return base::OkStatus();
  }
  return base::FailedPreconditionError(
      here + ": a copy of the deployment " + named +
      ", and two copies are two budgets for the same users: use that one, or, if it has not "
      "answered since this copy was made, delete it");
}

Status CheckNothingBeside(const std::string& here, const std::string& lineage) {
  const std::string parent = ParentOf(here);
  SUBMIX_ASSIGN_OR_RETURN(const auto names, base::ListDirectory(parent));
  for (const std::string& name : names) {
    const std::string beside = base::JoinPath(parent, name);
    if (IsSameDirectory(beside, here) || !HoldsFileLedgerOf(beside, lineage)) continue;
    return base::FailedPreconditionError(
        here + ": one deployment with " + beside +
        ", and two copies are two budgets for the same users: delete the one that is older, or "
        "name the one that answered last by `submix relocate`");
  }
  return base::OkStatus();
}

Status CheckIsItsEnsemble(const ensemble::OpenedEnsemble& ensemble,
                          const std::string& deployment_directory, const DeploymentConfig& config) {
  if (ensemble.fingerprint() == config.ensemble_fingerprint &&
      EntryOf(ensemble.manifest(), config.lineage) != ensemble.manifest().deployments.end()) {
    return base::OkStatus();
  }
  return base::FailedPreconditionError(ensemble.directory() + ": not the ensemble that " +
                                       deployment_directory + " was made on");
}

}  // namespace

std::string EnsemblePlace(const std::string& deployment_directory, const std::string& named) {
  const auto is_there = [](const std::string& directory) {
    return base::FileExists(ensemble::ManifestPath(directory));
  };
  if (is_there(named)) return named;
  const std::string beside =
      base::JoinPath(ParentOf(base::CanonicalPath(deployment_directory)), base::BaseName(named));
  return is_there(beside) ? beside : named;
}

StatusOr<ensemble::OpenedEnsemble> OpenEnsembleOf(const std::string& deployment_directory,
                                                  const DeploymentConfig& config) {
  auto ensemble = ensemble::OpenedEnsemble::Open(config.ensemble_directory);
  if (ensemble.status().code() != base::StatusCode::kNotFound) return ensemble;
  return base::NotFoundError(deployment_directory + ": its ensemble is not at " +
                             config.ensemble_directory +
                             "; if it was moved, name its place: `submix relocate " +
                             deployment_directory + " --ensemble DIRECTORY`");
}

Status CheckIsNoCopy(const std::string& deployment_directory, const DeploymentConfig& config,
                     const ensemble::Manifest& manifest) {
  if (!config.ledger_location.empty()) return base::OkStatus();
  const ensemble::DeploymentEntry& entry = *EntryOf(manifest, config.lineage);
  const std::string here = base::CanonicalPath(deployment_directory);
  SUBMIX_RETURN_IF_ERROR(CheckNamedPlace(here, entry.directory, config.lineage));
  // Manifests of older programs give a name alone.
  const bool is_named = entry.directory.empty() ? base::BaseName(here) == entry.name
                                                : IsSameDirectory(entry.directory, here);
  return is_named ? base::OkStatus() : CheckNothingBeside(here, config.lineage);
}

Status Relocate(const std::string& deployment_directory, const std::string& ensemble_directory) {
  SUBMIX_ASSIGN_OR_RETURN(DeploymentConfig config, LoadDeploymentConfig(deployment_directory));
  if (!ensemble_directory.empty()) {
    config.ensemble_directory = base::CanonicalPath(ensemble_directory);
  }
  SUBMIX_RETURN_IF_ERROR(OpenEnsembleOf(deployment_directory, config).status());
  SUBMIX_ASSIGN_OR_RETURN(const auto lock, ensemble::LockEnsemble(config.ensemble_directory));
  SUBMIX_ASSIGN_OR_RETURN(const auto ensemble, OpenEnsembleOf(deployment_directory, config));
  SUBMIX_RETURN_IF_ERROR(CheckIsItsEnsemble(ensemble, deployment_directory, config));
  ensemble::Manifest manifest = ensemble.manifest();
  ensemble::DeploymentEntry& entry = *EntryOf(manifest, config.lineage);
  const std::string here = base::CanonicalPath(deployment_directory);
  if (config.ledger_location.empty()) {
    SUBMIX_RETURN_IF_ERROR(CheckNamedPlace(here, entry.directory, config.lineage));
  }
  entry.name = base::BaseName(here);
  entry.directory = here;
  SUBMIX_RETURN_IF_ERROR(ensemble::SaveManifest(manifest, config.ensemble_directory));
  return SaveDeploymentConfig(config, deployment_directory);
}

}  // namespace submix::engine
