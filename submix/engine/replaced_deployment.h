// A deployment that was declared by mistake and has charged nothing: it ends, and its ensemble may
// be deployed anew. Its ledger's chain keeps that it was there.
#pragma once

#include <string>

#include "submix/base/status.h"
#include "submix/ensemble/manifest.h"

namespace submix::engine {

// Takes a deployment that has never charged anything to anybody from the list of the ensemble's
// `manifest`, in memory alone. One that is not listed must have ended, as an interrupted PutAside
// leaves it. Errors: kFailedPrecondition if it has charged, or is another ensemble's; those of
// reading the deployment and its ledger.
base::Status RemoveUncharged(const std::string& deployment_directory, ensemble::Manifest& manifest);

// Ends it, durably, saves `manifest`, which does not list it any more, and moves its directory to
// DIRECTORY.replaced-1, or the first such number that is free. Errors: kFailedPrecondition if it
// has charged since; kUnavailable while a process answers from it; those of writing.
base::Status PutAside(const std::string& deployment_directory, const ensemble::Manifest& manifest,
                      const std::string& ensemble_directory);

}  // namespace submix::engine
