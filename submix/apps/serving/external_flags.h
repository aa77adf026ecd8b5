// Flags of `submix deploy` for models that run outside Submix.
#pragma once

#include <string>
#include <vector>

#include "submix/apps/flags.h"
#include "submix/base/status.h"
#include "submix/ensemble/manifest.h"

namespace submix::apps {

struct ExternalFlags {
  std::string digest;     // empty: an ensemble that was trained here
  std::string partition;  // empty: the digest stands for it
  std::string tokenizer;
  int parts = 0;
  int halves = 1;
  int vocabulary = 0;

  bool is_given() const { return !digest.empty(); }
};

void AddExternalFlags(Flags flags, ExternalFlags& external);

// The manifest that the flags say. Errors: those of the tokenizer's files; kInvalidArgument for a
// digest that is none; kFailedPrecondition for a tokenizer that does not fit the vocabulary.
// Requires: external.is_given().
base::StatusOr<ensemble::Manifest> ManifestOf(const ExternalFlags& external);

// A budget belongs to the data: the same models in another directory are the same ensemble. Errors:
// kAlreadyExists for one beside `ensemble_directory` that is deployed, unless one of the
// deployments `after` is its own; those of reading these.
base::Status CheckIsDeployedNowhereElse(const ensemble::Manifest& manifest,
                                        const std::string& ensemble_directory,
                                        const std::vector<std::string>& after);

}  // namespace submix::apps
