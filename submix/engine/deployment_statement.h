// What a deployment promises: its mechanism's statement, with the cost of the public model where
// that was trained on private text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "submix/accounting/promise.h"
#include "submix/accounting/trained_public.h"
#include "submix/base/status.h"
#include "submix/engine/deployment.h"
#include "submix/mechanism/declaring/user_budget.h"

namespace submix::engine {

accounting::Promise DeploymentPromise(const Deployment& deployment);

// What its first column says of one user, as numbers.
struct UserGuarantee {
  accounting::EpsilonBound bound;  // at the deployment's delta, for all answers together
  accounting::Adjacency adjacency = accounting::Adjacency::kReplace;
};
// None where nothing follows for one user, or no epsilon.
std::optional<UserGuarantee> GuaranteeOfUser(const Deployment& deployment);

// How the public model in a directory was trained; none if it is public. Errors: those of
// LoadTrainingCost.
base::StatusOr<std::optional<accounting::PublicCost>> PublicTrainingOf(
    const std::string& public_directory, const ensemble::Manifest& manifest);

// Puts into `declared` what keeps `asked` of this ensemble, deployed after the deployments `after`:
// its mechanism and epsilon, given these, its list of users and what its public model cost,
// whatever `asked` says of them. Errors: those of PublicTrainingOf, LoadDeploymentConfig and
// mechanism::DeclareUsefulBudget.
base::Status DeclareBudget(const std::string& public_directory, const ensemble::Manifest& manifest,
                           const std::vector<std::string>& after, mechanism::AskedBudget asked,
                           const mechanism::MechanismMaker& make, DeploymentOptions& declared);

// Whether users of the ensemble may be among those whose text its public model was trained on: then
// what that cost counts for them, too.
bool MayHaveReadItsUsers(const ensemble::Manifest& manifest);

}  // namespace submix::engine
