#include "submix/ensemble/manifest_check.h"

#include <cmath>
#include <string_view>

#include "submix/base/json_object.h"

namespace submix::ensemble {
namespace {

base::Status FieldError(const std::string& path, const std::string& field,
                        const std::string& problem) {
  return base::InvalidArgumentError(path + ": field " + base::Quoted(field) + ": " + problem);
}

bool IsLowerHex(std::string_view text, std::size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool IsSha256Hex(std::string_view text) { return IsLowerHex(text, 64); }

// "public/…" or "members/…", without a component that could lead elsewhere.
bool IsListablePath(std::string_view path) {
  if (!path.starts_with("public/") && !path.starts_with("members/")) return false;
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string_view component = path.substr(0, slash);
    if (component.empty() || component == "." || component == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

base::Status CheckLineage(const Manifest& manifest, const std::string& path) {
  if (manifest.generation < 1) return FieldError(path, "generation", "expected 1 or more");
  if (manifest.generation == 1 && !manifest.parent_sha256.empty()) {
    return FieldError(path, "parent_sha256", "the first generation has no parent");
  }
  if (manifest.generation > 1 && !IsSha256Hex(manifest.parent_sha256)) {
    return FieldError(path, "parent_sha256", "expected 64 lower-case hex digits");
  }
  return base::OkStatus();
}

base::Status CheckPartition(const Manifest& manifest, const std::string& path) {
  if (manifest.partition_key_id.empty()) {
    return FieldError(path, "partition_key_id", "must not be empty");
  }
  if (manifest.num_parts < 1 || manifest.num_parts > kMaxParts) {
    return FieldError(path, "num_parts", "expected 1 to " + std::to_string(kMaxParts));
  }
  if (manifest.halves != 1 && manifest.halves != 2) {
    return FieldError(path, "halves", "expected 1 or 2");
  }
  if (!(manifest.heldout_fraction >= 0 && manifest.heldout_fraction < 1)) {
    return FieldError(path, "heldout_fraction", "expected at least 0 and less than 1");
  }
  return base::OkStatus();
}

base::Status CheckMembers(const Manifest& manifest, const std::string& path) {
  const auto halves = static_cast<std::size_t>(manifest.halves);
  const std::size_t expected = static_cast<std::size_t>(manifest.num_parts) * halves;
  if (manifest.members.size() != expected) {
    return FieldError(path, "members",
                      "expected num_parts * halves = " + std::to_string(expected) + ", found " +
                          std::to_string(manifest.members.size()));
  }
  for (std::size_t i = 0; i < expected; ++i) {
    const MemberEntry& member = manifest.members[i];
    const std::string field = "members[" + std::to_string(i) + "]";
    if (member.generation < 1 || member.generation > manifest.generation) {
      return FieldError(path, field + ".generation", "expected 1 to the manifest's generation");
    }
    const std::string directory =
        MemberDirectory(static_cast<int>(i / halves), static_cast<int>(i % halves),
                        manifest.num_parts, manifest.halves, member.generation);
    if (member.directory != directory) {
      return FieldError(path, field + ".directory",
                        "expected " + directory + ", found " + base::Quoted(member.directory));
    }
    if (member.steps < 0) return FieldError(path, field + ".steps", "expected 0 or more");
    if (!member.recipe_sha256.empty() && !IsSha256Hex(member.recipe_sha256)) {
      return FieldError(path, field + ".recipe_sha256",
                        "expected 64 lower-case hex digits or \"\"");
    }
  }
  return base::OkStatus();
}

base::Status CheckDeployments(const Manifest& manifest, const std::string& path) {
  for (std::size_t i = 0; i < manifest.deployments.size(); ++i) {
    const DeploymentEntry& deployment = manifest.deployments[i];
    const std::string field = "deployments[" + std::to_string(i) + "]";
    if (deployment.lineage.empty())
      return FieldError(path, field + ".lineage", "must not be empty");
    if (!(deployment.epsilon >= 0) || std::isinf(deployment.epsilon)) {
      return FieldError(path, field + ".epsilon", "expected a finite number, 0 or more");
    }
    if (!(deployment.order >= 1)) {
      return FieldError(path, field + ".order", "expected 1 or more, or \"inf\"");
    }
  }
  return base::OkStatus();
}

base::Status CheckForgotten(const Manifest& manifest, const std::string& path) {
  for (const std::string& hash : manifest.forgotten) {
    if (!IsLowerHex(hash, 16)) {
      return FieldError(path, "forgotten", "expected only strings of 16 lower-case hex digits");
    }
  }
  return base::OkStatus();
}

base::Status CheckFiles(const Manifest& manifest, const std::string& path) {
  for (const auto& [file, sha256] : manifest.file_sha256) {
    if (!IsListablePath(file)) {
      return FieldError(path, "file_sha256",
                        base::Quoted(file) + " is not a path below public/ or members/");
    }
    if (!IsSha256Hex(sha256)) {
      return FieldError(path, "file_sha256",
                        base::Quoted(file) + ": expected 64 lower-case hex digits");
    }
  }
  return base::OkStatus();
}

}  // namespace

base::Status CheckManifest(const Manifest& manifest, const std::string& path) {
  SUBMIX_RETURN_IF_ERROR(CheckLineage(manifest, path));
  SUBMIX_RETURN_IF_ERROR(CheckPartition(manifest, path));
  SUBMIX_RETURN_IF_ERROR(CheckMembers(manifest, path));
  SUBMIX_RETURN_IF_ERROR(CheckDeployments(manifest, path));
  SUBMIX_RETURN_IF_ERROR(CheckForgotten(manifest, path));
  return CheckFiles(manifest, path);
}

}  // namespace submix::ensemble
