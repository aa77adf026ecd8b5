// A deployment as somebody asks for it, on a command line or from Python.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/engine/deployment.h"
#include "submix/mechanism/declaring/make_mechanism.h"
#include "submix/workbench/external_ensemble.h"

namespace submix::workbench {

struct Declaration {
  std::string ensemble_directory;  // with `external`: to be made, or the same again
  std::string deployment_directory;
  std::string ledger_location;     // as engine::DeploymentConfig has it
  std::vector<std::string> after;  // earlier deployments over the same users
  bool replaces = false;           // the deployment that is in that directory
  // Whether options.epsilon is promised to one user, at options.delta or, where "order" is said, at
  // that order; else to a part.
  bool for_users = false;
  std::int64_t tokens = 1024;  // that the budget is to pay for; >= 1
  // Options of the mechanism by their paths (mechanism/options_table.h), as text; for the others
  // what is recommended.
  std::map<std::string, std::string> said;
  std::optional<ExternalEnsemble> external;
  // The mechanism's name, epsilon, delta, research, when_exhausted; the rest is found.
  engine::DeploymentOptions options;
};

// One for each batch of users in the ensemble's directory (ensemble/batches.h), in directories of
// their own beneath the deployment's: each gets a budget of its own, and one user's text is in one
// of them. Without batches, the declaration itself. Errors: kInvalidArgument for batches with a
// ledger's location or earlier deployments; those of BatchesIn.
base::StatusOr<std::vector<Declaration>> ForBatches(const Declaration& declaration);

// What Declare would make, without a ledger: nothing is written and nothing ends. `make` knows the
// mechanisms that may be declared. Errors: those of Declare, but for writing's; kInvalidArgument
// with `external`, whose ensemble is not there yet.
base::StatusOr<engine::Deployment> PlanDeclared(
    const Declaration& declaration,
    const mechanism::MechanismMaker& make = mechanism::MakeMechanism);

// Makes the deployment, and the ensemble first where it is external. Errors: kInvalidArgument for
// what is out of range or does nothing (engine::DeclareBudget); those of ManifestOf,
// CheckIsDeployedNowhereElse and engine::CreateDeployment, whose result it returns.
base::StatusOr<engine::Deployment> Declare(
    const Declaration& declaration,
    const mechanism::MechanismMaker& make = mechanism::MakeMechanism);

// What is recommended for so many parts and tokens, but for what was said. Errors:
// mechanism::SetTexts's.
base::StatusOr<mechanism::MechanismOptions> MechanismAsSaid(
    const std::string& name, int num_parts, std::int64_t tokens,
    const std::map<std::string, std::string>& said);

// What to tell the operator, and nobody else, of a delta that is large for so many users; empty:
// nothing. How many users there are depends on who is in the corpus.
std::string CautionOf(const engine::Deployment& deployment);

}  // namespace submix::workbench
