// A deployment that outgrows one server: its ledger goes on in PostgreSQL.
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

}  // namespace submix::engine
