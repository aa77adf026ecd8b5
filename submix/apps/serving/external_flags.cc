#include "submix/apps/serving/external_flags.h"

#include <algorithm>
#include <set>

#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/engine/deployment.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/external_ensemble.h"
#include "submix/ensemble/training_cost.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::apps {
namespace {

using base::StatusOr;

// What the ensemble keeps of the tokenizer's directory: also what the public model has cost.
StatusOr<std::vector<std::string>> FilesOf(const ExternalFlags& external) {
  if (external.tokenizer.empty()) return std::vector<std::string>();
  SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer,
                          tokenizer::Tokenizer::LoadFor(external.tokenizer, external.vocabulary));
  if (external.vocabulary > tokenizer->vocab_size()) {
    return base::FailedPreconditionError(
        external.tokenizer + ": has " + std::to_string(tokenizer->vocab_size()) +
        " entries, fewer than --vocabulary " + std::to_string(external.vocabulary) +
        ": leave the logits of padding out");
  }
  SUBMIX_ASSIGN_OR_RETURN(auto names, tokenizer::Tokenizer::FileNames(external.tokenizer));
  if (base::FileExists(base::JoinPath(external.tokenizer, ensemble::kTrainingCostFile))) {
    names.emplace_back(ensemble::kTrainingCostFile);
  }
  return names;
}

}  // namespace

void AddExternalFlags(Flags flags, ExternalFlags& external) {
  CLI::Option* const digest = flags.Add(
      "--external", external.digest,
      "The models run outside Submix: 64 hex digits that identify them, such as SHA-256 of their "
      "weights; the ensemble is then a new directory, or the same again");
  CLI::Option* const parts =
      flags.Add("--parts", external.parts, kPositive, "With --external: parts of the users");
  CLI::Option* const vocabulary = flags.Add("--vocabulary", external.vocabulary, kPositive,
                                            "With --external: numbers in a row of logits");
  CLI::Option* const halves = flags.Add("--halves", external.halves, OneOf({"1", "2"}),
                                        "With --external: members a part, 2 for pairs");
  CLI::Option* const partition = flags.Add(
      "--partition", external.partition,
      "With --external: a name for how the users are divided; --after an ensemble of the same name "
      "and number of parts, each part begins with what it has spent");
  CLI::Option* const tokenizer = flags.Add(
      "--tokenizer", external.tokenizer, kDirectory,
      "With --external: directory of the public model's tokenizer, for `serve` and `generate`; "
      "without it only Python's `submix.open` can answer");
  digest->needs(parts)->needs(vocabulary);
  for (CLI::Option* const option : {parts, vocabulary, halves, partition, tokenizer}) {
    option->needs(digest);
  }
}

StatusOr<ensemble::Manifest> ManifestOf(const ExternalFlags& external) {
  const auto digest = base::Sha256FromHex(external.digest);
  if (!digest.ok()) {
    return base::InvalidArgumentError("--external: expected 64 hex digits, found " +
                                      external.digest);
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto files, FilesOf(external));
  const std::string hex = base::ToHex(*digest);
  return ensemble::ExternalManifest({hex, external.vocabulary},
                                    external.partition.empty() ? hex : external.partition,
                                    external.parts, external.halves, external.tokenizer, files);
}

base::Status CheckIsDeployedNowhereElse(const ensemble::Manifest& manifest,
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

}  // namespace submix::apps
