// Unlearning one user by training again what depended on the user's text.
#pragma once

#include <string>

#include "submix/base/progress_bar.h"
#include "submix/base/status.h"
#include "submix/corpus/user_records.h"
#include "submix/ensemble/manifest.h"

namespace submix::train {

// Retrains the one member that held the user's text, from the public model, on what is left of that
// half, if anything, and with the ensemble's own options; deletes the old member; writes a new
// generation of the manifest, which names the one before and remembers (keyed) whom not to read
// again. The caller then binds the ledger to the new generation (engine/rebinding.h). Repeating an
// interrupted call ends it. Exact for the models; the trace in the spent budget stays, covered by
// it (privacy.md, on forgetting). Errors: kNotFound if the corpus has no such user;
// kFailedPrecondition for an ensemble trained with differential privacy, or while the forgetting of
// another user is unfinished; those of reading the corpus and of training.
base::StatusOr<ensemble::ForgetResult> ForgetUser(const std::string& ensemble_directory,
                                                  const corpus::CorpusFile& corpus,
                                                  const std::string& user,
                                                  base::ProgressStyle progress);

}  // namespace submix::train
