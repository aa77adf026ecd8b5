// What may change of a deployment that is there: where its ledger is, and, after `forget`, the
// ensemble's generation. The ledger goes on with everything that was spent.
#pragma once

#include <string>

#include "submix/base/status.h"

namespace submix::engine {

// Moves a deployment's ledger from its file to `location`, an empty database, with its whole chain;
// the file is put aside under another name. If it is interrupted, the ledger that the deployment
// names is the one that holds. Errors: kFailedPrecondition if it is in a database already;
// kUnavailable while a process answers from the deployment, or if the database cannot be reached;
// the ledger's.
base::Status MoveLedger(const std::string& deployment_directory, const std::string& location);

// Binds a deployment to the present generation of its ensemble, which must be the child of the one
// it was bound to; everything spent stays spent. Ok if it is bound to it already. Repeating an
// interrupted call finishes it. Errors: kFailedPrecondition if the ensemble changed in any other
// way; kUnavailable while a process answers from a deployment whose ledger is a file. From a
// database the servers of the old generation charge nothing any more.
base::Status RebindDeployment(const std::string& deployment_directory);

}  // namespace submix::engine
