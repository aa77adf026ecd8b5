// An ensemble as it was when it was opened. Whoever answers, measures or prints asks this value and
// never reads the directory's manifest again: what was verified is what is used.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "submix/base/digest.h"
#include "submix/base/status.h"
#include "submix/ensemble/manifest.h"
#include "submix/ensemble/training_cost.h"

namespace submix::ensemble {

// Does not change; thread-safe.
class OpenedEnsemble {
 public:
  // What the manifest says, with no other file read. Errors: LoadManifest's.
  static base::StatusOr<OpenedEnsemble> Open(const std::string& directory);

  OpenedEnsemble() = default;  // of no directory
  OpenedEnsemble(std::string directory, Manifest manifest);

  const std::string& directory() const { return directory_; }
  const Manifest& manifest() const { return manifest_; }
  const base::Sha256Digest& fingerprint() const { return fingerprint_; }

  std::string public_directory() const;
  // [num_members()], or none of external models. Errors: kFailedPrecondition for a member that is
  // not trained yet.
  base::StatusOr<std::vector<std::string>> MemberDirectories() const;

  // What whoever computes the ensemble's logits must name: the digest of external models, else the
  // ensemble's fingerprint.
  std::string digest() const;
  // Numbers in a row of logits: the public model's vocabulary, or that of models outside. Errors:
  // those of reading the public model's config.json.
  base::StatusOr<int> Vocabulary() const;
  // What the public model cost the users that it was trained on; none: it is public. Errors:
  // LoadTrainingCost's.
  base::StatusOr<std::optional<TrainingCost>> PublicCost() const;

  // Reads and hashes all of it: seconds for large models. Errors: ensemble::VerifyFiles's.
  base::Status VerifyFiles() const;
  // Errors: kFailedPrecondition for an ensemble whose members are not models in its directory.
  base::Status CheckHasModels() const;

 private:
  std::string directory_;
  Manifest manifest_;
  base::Sha256Digest fingerprint_{};
};

}  // namespace submix::ensemble
