#include "submix/workbench/declaration.h"

#include <utility>

#include "submix/accounting/promise.h"
#include "submix/engine/deployment_statement.h"
#include "submix/ensemble/batches.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/external_ensemble.h"
#include "submix/mechanism/declaring/recommended_options.h"
#include "submix/mechanism/declaring/user_budget.h"
#include "submix/mechanism/options_table.h"

namespace submix::workbench {
namespace {

using base::Status;
using base::StatusOr;

StatusOr<ensemble::Manifest> LoadManifest(const Declaration& declaration) {
  return declaration.external ? ManifestOf(*declaration.external)
                              : ensemble::LoadManifest(declaration.ensemble_directory);
}

// Recommended, then what was said, then the budget that keeps what was asked for.
StatusOr<engine::DeploymentOptions> CompleteOptions(const Declaration& declaration,
                                                    const ensemble::Manifest& manifest,
                                                    const mechanism::MechanismMaker& make) {
  if (declaration.tokens < 1) {
    return base::InvalidArgumentError("queries: expected at least 1, found " +
                                      std::to_string(declaration.tokens));
  }
  engine::DeploymentOptions options = declaration.options;
  SUBMIX_ASSIGN_OR_RETURN(options.mechanism,
                          MechanismAsSaid(options.mechanism.name, manifest.num_parts,
                                          declaration.tokens, declaration.said));
  mechanism::AskedBudget asked = {.epsilon = options.epsilon,
                                  .for_users = declaration.for_users,
                                  .delta = options.delta,
                                  .tokens = declaration.tokens};
  if (declaration.said.contains("order")) asked.order = options.mechanism.order;
  // An external ensemble is made of the tokenizer's directory once this has succeeded.
  const bool is_there = !declaration.external || declaration.external->tokenizer.empty();
  const std::string public_directory =
      is_there ? ensemble::PublicDirectory(declaration.ensemble_directory)
               : declaration.external->tokenizer;
  SUBMIX_RETURN_IF_ERROR(
      engine::DeclareBudget(public_directory, manifest, declaration.after, asked, make, options));
  return options;
}

}  // namespace

StatusOr<std::vector<Declaration>> ForBatches(const Declaration& declaration) {
  std::vector<std::string> batches;
  if (!declaration.external) {
    SUBMIX_ASSIGN_OR_RETURN(batches, ensemble::BatchesIn(declaration.ensemble_directory));
  }
  if (batches.empty()) return std::vector<Declaration>{declaration};
  if (!declaration.ledger_location.empty() || !declaration.after.empty()) {
    return base::InvalidArgumentError(
        declaration.ensemble_directory +
        ": holds batches, which take no --ledger and no --after; deploy its directories one by "
        "one");
  }
  std::vector<Declaration> all(batches.size(), declaration);
  for (std::size_t batch = 0; batch < batches.size(); ++batch) {
    all[batch].ensemble_directory = batches[batch];
    all[batch].deployment_directory =
        ensemble::BatchDirectory(declaration.deployment_directory, static_cast<int>(batch),
                                 static_cast<int>(batches.size()));
  }
  return all;
}

StatusOr<engine::Deployment> PlanDeclared(const Declaration& declaration,
                                          const mechanism::MechanismMaker& make) {
  if (declaration.external) {
    return base::InvalidArgumentError(
        declaration.ensemble_directory +
        ": an external ensemble is made with its deployment; nothing can be said of it before");
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto manifest, LoadManifest(declaration));
  SUBMIX_ASSIGN_OR_RETURN(const auto options, CompleteOptions(declaration, manifest, make));
  return engine::PlanDeployment(declaration.ensemble_directory, options, make, declaration.after,
                                declaration.replaces ? declaration.deployment_directory : "");
}

StatusOr<engine::Deployment> Declare(const Declaration& declaration,
                                     const mechanism::MechanismMaker& make) {
  SUBMIX_ASSIGN_OR_RETURN(const auto manifest, LoadManifest(declaration));
  SUBMIX_ASSIGN_OR_RETURN(const auto options, CompleteOptions(declaration, manifest, make));
  if (declaration.external) {
    SUBMIX_RETURN_IF_ERROR(
        CheckIsDeployedNowhereElse(manifest, declaration.ensemble_directory, declaration.after));
    SUBMIX_RETURN_IF_ERROR(ensemble::MakeExternalEnsemble(manifest, declaration.external->tokenizer,
                                                          declaration.ensemble_directory));
  }
  return engine::CreateDeployment(declaration.deployment_directory, declaration.ensemble_directory,
                                  options, declaration.ledger_location, make, declaration.after,
                                  declaration.replaces);
}

StatusOr<mechanism::MechanismOptions> MechanismAsSaid(
    const std::string& name, int num_parts, std::int64_t tokens,
    const std::map<std::string, std::string>& said) {
  mechanism::MechanismOptions options;
  options.name = name;
  options.num_parts = num_parts;
  options.order = mechanism::RecommendedOrder();
  mechanism::Recommend(num_parts, tokens, options);
  SUBMIX_RETURN_IF_ERROR(mechanism::SetTexts(said, options));
  return options;
}

std::string CautionOf(const engine::Deployment& deployment) {
  const auto users = static_cast<double>(deployment.ensemble.manifest().users.value_or(0));
  if (users == 0) return "";
  const std::string caution = accounting::DeltaCaution(deployment.config.options.delta, users);
  return caution.empty() ? "" : "For you alone: " + caution + ".";
}

}  // namespace submix::workbench
