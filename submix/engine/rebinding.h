// After `forget`: the same ledger goes on under the ensemble's new generation.
#pragma once

#include <string>

#include "submix/base/status.h"

namespace submix::engine {

// Binds a deployment to the present generation of its ensemble, which must be the child of the one
// it was bound to; everything spent stays spent. Ok if it is bound to it already. Repeating an
// interrupted call finishes it. Errors: kFailedPrecondition if the ensemble changed in any other
// way; kUnavailable while a process answers from a deployment whose ledger is a file. From a
// database the servers of the old generation charge nothing any more.
base::Status RebindDeployment(const std::string& deployment_directory);

}  // namespace submix::engine
