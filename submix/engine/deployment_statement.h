// What a deployment promises: its mechanism's statement, with the cost of the public model where
// that was trained on private text.
#pragma once

#include "submix/accounting/promise.h"
#include "submix/engine/deployment.h"

namespace submix::engine {

accounting::Promise DeploymentPromise(const Deployment& deployment);

}  // namespace submix::engine
