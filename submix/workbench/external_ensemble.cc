#include "submix/workbench/external_ensemble.h"

#include <set>

#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/engine/deployment.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/external_ensemble.h"
#include "submix/ensemble/training_cost.h"
#include "submix/model/end_tokens.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::workbench {
namespace {

using base::Status;
using base::StatusOr;

// What the ensemble keeps of the tokenizer's directory: also what the public model has cost.
StatusOr<std::vector<std::string>> FilesOf(const ExternalEnsemble& external) {
  if (external.tokenizer.empty()) return std::vector<std::string>();
  SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer,
                          tokenizer::Tokenizer::LoadFor(external.tokenizer, external.vocabulary));
  if (external.vocabulary > tokenizer->vocab_size()) {
    return base::FailedPreconditionError(
        external.tokenizer + ": has " + std::to_string(tokenizer->vocab_size()) +
        " entries, fewer than --vocabulary " + std::to_string(external.vocabulary) +
        ": leave the logits of padding out");
  }
  SUBMIX_RETURN_IF_ERROR(
      model::LoadGenerationEnds(external.tokenizer, external.vocabulary).status());
  SUBMIX_ASSIGN_OR_RETURN(auto names, tokenizer::Tokenizer::FileNames(external.tokenizer));
  if (base::FileExists(base::JoinPath(external.tokenizer, ensemble::kTrainingCostFile))) {
    names.emplace_back(ensemble::kTrainingCostFile);
  }
  return names;
}

// 64 lower-case hex digits.
StatusOr<std::string> DigestOf(const std::string& flag, const std::string& digits) {
  const auto digest = base::Sha256FromHex(digits);
  if (digest.ok()) return base::ToHex(*digest);
  return base::InvalidArgumentError(flag + ": expected 64 hex digits, found " + digits);
}

}  // namespace

StatusOr<ensemble::Manifest> ManifestOf(const ExternalEnsemble& external) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string hex, DigestOf("--external", external.digest));
  ensemble::ExternalModels models = {hex, external.vocabulary};
  if (!external.public_digest.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(models.public_sha256,
                            DigestOf("--public-digest", external.public_digest));
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto files, FilesOf(external));
  return ensemble::ExternalManifest(models, external.partition.empty() ? hex : external.partition,
                                    external.parts, external.halves, external.tokenizer, files);
}

Status CheckIsDeployedNowhereElse(const ensemble::Manifest& manifest,
                                  const std::string& ensemble_directory,
                                  const std::vector<std::string>& after) {
  std::set<std::string> counted_in;
  for (const std::string& deployment : after) {
    SUBMIX_ASSIGN_OR_RETURN(const auto config, engine::LoadDeploymentConfig(deployment));
    counted_in.insert(config.lineage);
  }
  for (const std::string& directory : ensemble::EnsemblesBeside(ensemble_directory)) {
    const auto other = ensemble::LoadManifest(directory);
    if (!other.ok() || !other->external || other->external->sha256 != manifest.external->sha256) {
      continue;
    }
    for (const ensemble::DeploymentEntry& entry : other->deployments) {
      if (counted_in.contains(entry.lineage)) continue;
      return base::AlreadyExistsError(
          directory + ": the same external ensemble, deployed as " + entry.name +
          "; a budget belongs to the data, so a second one would add to it: use that deployment, "
          "or count it in with --after");
    }
  }
  return base::OkStatus();
}

}  // namespace submix::workbench
