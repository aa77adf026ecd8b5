// Ensembles whose members read records of their parts (contexts/context_ensemble.h), made new or on
// top of adapters that were trained before.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "submix/base/file_system.h"
#include "submix/base/status.h"
#include "submix/corpus/partition.h"
#include "submix/corpus/user_records.h"
#include "submix/ensemble/opened_ensemble.h"

namespace submix::workbench {

struct ContextsRequest {
  std::string ensemble;  // directory to make
  corpus::CorpusFile corpus;
  // Who reads: this public model for each part, or each part's adapter of this trained ensemble,
  // whose public model, parts and key are then taken. Requires: one of both is empty.
  std::string public_directory;
  std::string adapters;
  corpus::PartitionOptions partition;
  std::string partition_key;  // a file; empty: a new secret
  int batches = 1;            // more: of users, each an ensemble of its own; none with adapters
  ensemble::Contexts contexts;
};

class ContextsPlan {
 public:
  // Checks all that can be checked before records are divided; adapters are locked from here on.
  // Errors: kAlreadyExists if the directory is not empty; kInvalidArgument if the public model has
  // no room for the contexts and a query, or its tokenizer cannot cut a record into tokens;
  // kFailedPrecondition for adapters that are not trained yet, whole models, or were trained with
  // differential privacy; those of reading corpus, models and ensembles.
  static base::StatusOr<ContextsPlan> Create(ContextsRequest request);

  // With the public model and parts of the adapters, where these are given.
  const ContextsRequest& request() const { return request_; }

  struct Made {
    std::vector<ensemble::OpenedEnsemble> ensembles;  // one a batch
    std::int64_t left_out = 0;  // users of the corpus whom no adapter was trained on; private
  };
  // Beside its place, and renamed at the end: a crash leaves no half ensemble. Errors:
  // kFailedPrecondition for adapters that keep no list of their users; those of
  // contexts::PartitionRecords, and of reading and writing.
  base::StatusOr<Made> Make() const;

 private:
  explicit ContextsPlan(ContextsRequest request) : request_(std::move(request)) {}

  base::Status TakeOverAdapters();
  base::Status CheckPublicModel() const;
  base::StatusOr<std::int64_t> BuildAll(const std::string& directory) const;

  ContextsRequest request_;
  std::unique_ptr<base::FileLock> lock_;  // on the adapters
  std::optional<ensemble::OpenedEnsemble> trained_;
};

}  // namespace submix::workbench
