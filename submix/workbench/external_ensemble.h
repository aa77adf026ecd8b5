// The ensemble of models that run outside Submix, as somebody describes it.
#pragma once

#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/ensemble/manifest.h"

namespace submix::workbench {

struct ExternalEnsemble {
  std::string digest;              // 64 hex digits
  std::string public_digest = {};  // of the public model alone; empty: not stated
  // A name for how the users are divided; empty: the digest stands for it.
  std::string partition = {};
  std::string tokenizer = {};  // directory; empty: only Python's `submix.open` can answer
  int parts = 0;
  int halves = 1;
  int vocabulary = 0;  // numbers in a row of logits
};

// Errors: those of the tokenizer's files; kInvalidArgument for a digest that is none;
// kFailedPrecondition for a tokenizer that does not fit the vocabulary.
base::StatusOr<ensemble::Manifest> ManifestOf(const ExternalEnsemble& external);

// A budget belongs to the data (contract 2): the same models in another directory are the same
// ensemble. Errors: kAlreadyExists for one beside `ensemble_directory` that is deployed, unless one
// of the deployments `after` is its own; those of reading these. Requires: manifest.external.
base::Status CheckIsDeployedNowhereElse(const ensemble::Manifest& manifest,
                                        const std::string& ensemble_directory,
                                        const std::vector<std::string>& after);

}  // namespace submix::workbench
