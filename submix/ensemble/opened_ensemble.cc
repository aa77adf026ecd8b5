#include "submix/ensemble/opened_ensemble.h"

#include <utility>

#include "submix/ensemble/ensemble_directory.h"
#include "submix/model/decoder_config.h"

namespace submix::ensemble {

using base::StatusOr;

StatusOr<OpenedEnsemble> OpenedEnsemble::Open(const std::string& directory) {
  SUBMIX_ASSIGN_OR_RETURN(Manifest manifest, LoadManifest(directory));
  return OpenedEnsemble(directory, std::move(manifest));
}

OpenedEnsemble::OpenedEnsemble(std::string directory, Manifest manifest)
    : directory_(std::move(directory)),
      manifest_(std::move(manifest)),
      fingerprint_(EnsembleFingerprint(manifest_)) {}

std::string OpenedEnsemble::public_directory() const { return PublicDirectory(directory_); }

StatusOr<std::vector<std::string>> OpenedEnsemble::MemberDirectories() const {
  std::vector<std::string> directories;
  for (const MemberEntry& member : manifest_.members) {
    if (!member.complete) {
      return base::FailedPreconditionError(
          directory_ + ": " + member.directory +
          " is not trained yet; run the same `submix train` again to finish");
    }
    directories.push_back(MemberPath(directory_, member));
  }
  return directories;
}

std::string OpenedEnsemble::digest() const {
  return manifest_.external ? manifest_.external->sha256 : base::ToHex(fingerprint_);
}

StatusOr<int> OpenedEnsemble::Vocabulary() const {
  if (manifest_.external) return manifest_.external->vocabulary;
  SUBMIX_ASSIGN_OR_RETURN(const auto config, model::LoadConfigOf(public_directory()));
  return config.vocab_size;
}

StatusOr<std::optional<TrainingCost>> OpenedEnsemble::PublicCost() const {
  return LoadTrainingCost(public_directory());
}

base::Status OpenedEnsemble::VerifyFiles() const {
  return ensemble::VerifyFiles(manifest_, directory_);
}

base::Status OpenedEnsemble::CheckHasModels() const {
  if (manifest_.contexts) {
    return base::FailedPreconditionError(
        directory_ +
        ": its members read contexts (`submix contexts`) and are no models "
        "that could stand beside others");
  }
  if (!manifest_.external) return base::OkStatus();
  return base::FailedPreconditionError(
      directory_ +
      ": its models run outside Submix (`submix deploy --external`) and are not here to be read; "
      "what only asks them takes --predictor external:SOCKET");
}

}  // namespace submix::ensemble
