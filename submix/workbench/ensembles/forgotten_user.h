// What is looked at before a user is forgotten, whatever then forgets: contexts::ForgetRecords or
// train::ForgetUser.
#pragma once

#include <string>

#include "submix/base/status.h"
#include "submix/corpus/user_records.h"
#include "submix/ensemble/manifest.h"
#include "submix/ensemble/opened_ensemble.h"

namespace submix::workbench {

struct ForgetRequest {
  std::string ensemble;  // or a directory of batches
  corpus::CorpusFile corpus;
  std::string user;
  std::string deployment;  // of the ensemble, or of the batches; empty: it has none
};

// Of batches, the ensemble that has read the user and its deployment; other directories are left as
// they are. Errors: those of reading batches and their key.
base::StatusOr<ForgetRequest> InItsBatch(ForgetRequest request);

// The deployment must be the ensemble's own: otherwise its ledger would be left behind. Errors:
// kInvalidArgument if it is not given; kFailedPrecondition if it is another's.
base::Status CheckNamesItsDeployment(const ForgetRequest& request,
                                     const ensemble::OpenedEnsemble& ensemble);

// A key that nobody had is placed as any other is; only the list of users and the corpus know.
// Whether the user was held out: no member has read a record. Without a list: false. Errors:
// kNotFound for whom nobody knows; those of reading list, key and corpus.
base::StatusOr<bool> WasHeldOut(const ForgetRequest& request,
                                const ensemble::OpenedEnsemble& ensemble);

// For train::ForgetUser: writes what a member reads on without the user, whom the mark names, into
// its new directory. Errors: those of reading and writing records.
base::Status MoveRecords(const std::string& mark, const std::string& old_directory,
                         const std::string& new_directory);

}  // namespace submix::workbench
