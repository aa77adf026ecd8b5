// What a deployment promises: its mechanism's statement, with the cost of the public model where
// that was trained on private text.
#pragma once

#include <optional>
#include <string>

#include "submix/accounting/promise.h"
#include "submix/accounting/trained_public.h"
#include "submix/base/status.h"
#include "submix/engine/deployment.h"

namespace submix::engine {

accounting::Promise DeploymentPromise(const Deployment& deployment);

// How an ensemble's public model was trained; none if it is public. Errors: those of
// LoadTrainingCost.
base::StatusOr<std::optional<accounting::PublicTraining>> PublicTrainingOf(
    const std::string& ensemble_directory, const ensemble::Manifest& manifest);
// Whether users of the ensemble may be among those whose text it was trained on.
bool MayHaveReadItsUsers(const ensemble::Manifest& manifest);

}  // namespace submix::engine
