// Unlearning one user by training again what depended on the user's text.
#pragma once

#include <functional>
#include <string>

#include "submix/base/progress_bar.h"
#include "submix/base/status.h"
#include "submix/corpus/user_records.h"
#include "submix/ensemble/manifest.h"

namespace submix::train {

// Of members that also read records (submix/contexts): writes what an old member's directory holds
// of them, without those of the user whom `mark` (corpus::ForgottenMark) gives, into the new one's;
// where the old one has none any more, an earlier call has done so.
using MoveRecords = std::function<base::Status(
    const std::string& mark, const std::string& old_directory, const std::string& new_directory)>;

// Retrains the one member that held the user's text, from the public model, on what is left of that
// half, if anything, and with the ensemble's own options; deletes the old member; writes a new
// generation of the manifest, which names the one before and remembers (keyed) whom not to read
// again. The caller then binds the ledger to the new generation (engine/deployment_changes.h).
// Repeating an interrupted call ends it. Exact for the models; the trace in the spent budget stays,
// covered by it (privacy.md, on forgetting). Errors: kNotFound if the corpus has no such user;
// kFailedPrecondition for an ensemble trained with differential privacy, or while the forgetting of
// another user is unfinished; those of reading the corpus, of training and of move_records.
// Requires: move_records if and only if the members read records.
base::StatusOr<ensemble::ForgetResult> ForgetUser(const std::string& ensemble_directory,
                                                  const corpus::CorpusFile& corpus,
                                                  const std::string& user,
                                                  base::ProgressStyle progress,
                                                  const MoveRecords& move_records = nullptr);

}  // namespace submix::train
