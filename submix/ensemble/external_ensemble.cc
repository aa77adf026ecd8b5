#include "submix/ensemble/external_ensemble.h"

#include <filesystem>

#include "submix/base/file_system.h"
#include "submix/ensemble/ensemble_directory.h"

namespace submix::ensemble {
namespace {

using base::Status;
using base::StatusOr;

constexpr char kPublic[] = "public/";

Status Build(const Manifest& manifest, const std::string& tokenizer_directory,
             const std::string& directory) {
  SUBMIX_RETURN_IF_ERROR(base::RemoveAll(directory));
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(PublicDirectory(directory)));
  SUBMIX_RETURN_IF_ERROR(base::MakePrivate(directory));
  for (const auto& [path, sha256] : manifest.file_sha256) {
    SUBMIX_ASSIGN_OR_RETURN(
        const std::string content,
        base::ReadFile(base::JoinPath(tokenizer_directory, base::BaseName(path))));
    SUBMIX_RETURN_IF_ERROR(base::WriteFile(base::JoinPath(directory, path), content));
  }
  SUBMIX_RETURN_IF_ERROR(VerifyFiles(manifest, directory));
  return SaveManifest(manifest, directory);
}

Status CheckIsThere(const Manifest& manifest, const std::string& ensemble_directory) {
  const auto found = LoadManifest(ensemble_directory);
  if (found.ok() && EnsembleFingerprint(*found) == EnsembleFingerprint(manifest)) {
    return base::OkStatus();
  }
  return base::AlreadyExistsError(
      ensemble_directory +
      ": not the external ensemble that these options say (digest, parts, halves, vocabulary, "
      "tokenizer); give a new directory");
}

}  // namespace

StatusOr<Manifest> ExternalManifest(const ExternalModels& models, const std::string& partition,
                                    int num_parts, int halves,
                                    const std::string& tokenizer_directory,
                                    const std::vector<std::string>& tokenizer_files) {
  Manifest manifest;
  manifest.partition_key_id = "external " + partition;
  manifest.num_parts = num_parts;
  manifest.halves = halves;
  manifest.external = models;
  for (const std::string& name : tokenizer_files) {
    SUBMIX_ASSIGN_OR_RETURN(const auto digest,
                            base::Sha256OfFile(base::JoinPath(tokenizer_directory, name)));
    manifest.file_sha256[kPublic + name] = base::ToHex(digest);
  }
  return manifest;
}

Status MakeExternalEnsemble(const Manifest& manifest, const std::string& tokenizer_directory,
                            const std::string& ensemble_directory) {
  if (const auto names = base::ListDirectory(ensemble_directory); names.ok() && !names->empty()) {
    return CheckIsThere(manifest, ensemble_directory);
  }
  // Built beside its place and renamed at the end: a crash leaves no half ensemble.
  const std::string place = base::CanonicalPath(ensemble_directory);
  const std::string unfinished = place + ".unfinished";
  const Status built = Build(manifest, tokenizer_directory, unfinished);
  if (built.ok()) return base::Rename(unfinished, place);
  (void)base::RemoveAll(unfinished);
  return built;
}

}  // namespace submix::ensemble
