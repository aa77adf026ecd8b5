// Which bytes an ensemble consists of: fingerprint, hashing and verifying.
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "submix/base/file_system.h"
#include "submix/base/json_object.h"
#include "submix/ensemble/manifest.h"

namespace submix::ensemble {
namespace {

namespace fs = std::filesystem;

// "name length:value\n": with the length in front no value can pass for two.
void AppendText(std::string& bytes, std::string_view name, std::string_view value) {
  bytes += std::string(name) + " " + std::to_string(value.size()) + ":" + std::string(value) + "\n";
}

void AppendNumber(std::string& bytes, std::string_view name, int value) {
  AppendText(bytes, name, std::to_string(value));
}

// Adds the relative paths of every file below `root` ("public"). A missing root has no files.
base::Status ListFiles(const std::string& ensemble_directory, const std::string& root,
                       std::set<std::string>& paths) {
  const fs::path directory = fs::path(ensemble_directory) / root;
  std::error_code error;
  if (!fs::exists(directory, error)) return base::OkStatus();
  fs::recursive_directory_iterator entries(directory, error);
  for (const fs::recursive_directory_iterator end; !error && entries != end;
       entries.increment(error)) {
    const std::string path = root + "/" + entries->path().lexically_relative(directory).string();
    if (entries->is_directory(error) && !entries->is_symlink(error)) continue;
    if (!entries->is_regular_file(error)) {
      return base::FailedPreconditionError(ensemble_directory + ": " + base::Quoted(path) +
                                           " is neither a file nor a directory; replace it");
    }
    paths.insert(path);
  }
  if (error) {
    return base::InternalError(directory.string() + ": list failed: " + error.message());
  }
  return base::OkStatus();
}

base::StatusOr<std::set<std::string>> EnsembleFiles(const std::string& ensemble_directory) {
  std::set<std::string> paths;
  for (const char* root : {"public", "members"}) {
    SUBMIX_RETURN_IF_ERROR(ListFiles(ensemble_directory, root, paths));
  }
  return paths;
}

base::StatusOr<std::string> HexOfFile(const std::string& ensemble_directory,
                                      const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const base::Sha256Digest digest,
                          base::Sha256OfFile(base::JoinPath(ensemble_directory, path)));
  return base::ToHex(digest);
}

}  // namespace

base::Sha256Digest EnsembleFingerprint(const Manifest& manifest) {
  std::string bytes = "submix ensemble 1\n";
  AppendNumber(bytes, "generation", manifest.generation);
  AppendText(bytes, "partition_key_id", manifest.partition_key_id);
  AppendNumber(bytes, "num_parts", manifest.num_parts);
  AppendNumber(bytes, "halves", manifest.halves);
  if (manifest.external.has_value()) {
    AppendText(bytes, "external", manifest.external->sha256);
    AppendNumber(bytes, "vocabulary", manifest.external->vocabulary);
    const std::string& of_public = manifest.external->public_sha256;
    if (!of_public.empty()) AppendText(bytes, "external_public", of_public);
  }
  if (manifest.contexts.has_value()) {
    AppendNumber(bytes, "context_tokens", manifest.contexts->tokens);
    AppendText(bytes, "retrieval", RetrievalName(manifest.contexts->retrieval));
    if (manifest.contexts->has_adapters) AppendText(bytes, "adapters", "read");
    if (manifest.contexts->public_keys) AppendText(bytes, "public_keys", "true");
    const std::string& record_template = manifest.contexts->record_template;
    if (!record_template.empty()) AppendText(bytes, "template", record_template);
  }
  for (const auto& [path, sha256] : manifest.file_sha256) {
    AppendText(bytes, "path", path);
    AppendText(bytes, "sha256", sha256);
  }
  return base::Sha256(bytes);
}

base::Status VerifyFiles(const Manifest& manifest, const std::string& ensemble_directory) {
  SUBMIX_ASSIGN_OR_RETURN(const std::set<std::string> paths, EnsembleFiles(ensemble_directory));
  const auto failure = [&](const std::string& path, const std::string& problem) {
    return base::FailedPreconditionError(ensemble_directory + ": file " + base::Quoted(path) + " " +
                                         problem);
  };
  for (const std::string& path : paths) {
    if (!manifest.file_sha256.contains(path)) {
      return failure(path, "is not listed in manifest.json; move it elsewhere");
    }
  }
  for (const auto& [path, sha256] : manifest.file_sha256) {
    const std::string restore = "; restore the ensemble from its backup";
    if (!paths.contains(path)) return failure(path, "is missing" + restore);
    SUBMIX_ASSIGN_OR_RETURN(const std::string found, HexOfFile(ensemble_directory, path));
    if (found != sha256) return failure(path, "is not the one in manifest.json" + restore);
  }
  return base::OkStatus();
}

base::Status HashFiles(Manifest& manifest, const std::string& ensemble_directory) {
  SUBMIX_ASSIGN_OR_RETURN(const std::set<std::string> paths, EnsembleFiles(ensemble_directory));
  if (paths.empty()) {
    return base::NotFoundError(ensemble_directory + ": no files in public/ or members/");
  }
  std::map<std::string, std::string> hashes;
  for (const std::string& path : paths) {
    SUBMIX_ASSIGN_OR_RETURN(hashes[path], HexOfFile(ensemble_directory, path));
  }
  manifest.file_sha256 = std::move(hashes);
  return base::OkStatus();
}

}  // namespace submix::ensemble
