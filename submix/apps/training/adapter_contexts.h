// What `submix contexts --adapters` takes over from a trained ensemble: its adapters, whom they
// know, and where users belong.
#pragma once

#include <cstdint>
#include <string>

#include "submix/base/digest.h"
#include "submix/base/status.h"
#include "submix/contexts/context_records.h"
#include "submix/ensemble/manifest.h"

namespace submix::apps {

// The manifest of an ensemble whose adapters can read. Errors: those of LoadManifest and
// VerifyFiles; kFailedPrecondition for members that are not trained yet, are whole models or no
// models here, or were trained with differential privacy. Requires: the ensemble's lock.
base::StatusOr<ensemble::Manifest> LoadTrainedEnsemble(const std::string& ensemble_directory);

// Leaves the records of the users whom the adapters were trained on and have not forgotten, so that
// forgetting has one corpus for both. Returns how many users are left out. Errors:
// kFailedPrecondition if the ensemble has no list of its users.
base::StatusOr<std::int64_t> KeepTrainedUsers(const std::string& ensemble_directory,
                                              const ensemble::Manifest& manifest,
                                              const base::HashKey& key,
                                              contexts::PartitionedRecords& records);

// Copies the adapters and the list of users into a new ensemble, whose manifest it returns, the
// first of its own generations. Errors: those of CopyFiles.
base::StatusOr<ensemble::Manifest> CopyAdapters(const std::string& ensemble_directory,
                                                const ensemble::Manifest& manifest,
                                                const std::string& new_directory);

}  // namespace submix::apps
