#include "submix/ensemble/testing/written_ensemble.h"

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/ensemble/ensemble_directory.h"

namespace submix::ensemble {
namespace {

void Write(const std::string& directory, const std::string& name, const std::string& content) {
  SUBMIX_CHECK(base::MakeDirectories(directory).ok(), directory.c_str());
  SUBMIX_CHECK(base::WriteFile(base::JoinPath(directory, name), content).ok(), directory.c_str());
}

}  // namespace

void WriteEnsemble(const std::string& directory, Manifest manifest, const std::string& adapter,
                   const std::map<std::string, std::string>& public_files) {
  if (manifest.partition_key_id.empty()) manifest.partition_key_id = "0123456789abcdef";
  Write(PublicDirectory(directory), "config.json", "{}");
  for (const auto& [name, content] : public_files) {
    Write(PublicDirectory(directory), name, content);
  }
  const int members = manifest.external ? 0 : manifest.num_members();
  for (int m = 0; m < members; ++m) {
    MemberEntry& member = manifest.members.emplace_back();
    member.directory = MemberDirectory(m / manifest.halves, m % manifest.halves, manifest.num_parts,
                                       manifest.halves);
    member.generation = 1;
    member.complete = true;
    Write(MemberPath(directory, member), "adapter_model.safetensors", adapter);
  }
  SUBMIX_CHECK(HashFiles(manifest, directory).ok(), directory.c_str());
  SUBMIX_CHECK(SaveManifest(manifest, directory).ok(), directory.c_str());
}

}  // namespace submix::ensemble
