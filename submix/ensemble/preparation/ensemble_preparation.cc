#include "submix/ensemble/preparation/ensemble_preparation.h"

#include <cstdint>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "submix/base/file_system.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/training_cost.h"
#include "submix/model/decoder_config.h"
#include "submix/model/end_tokens.h"
#include "submix/model/weight_files.h"

namespace submix::ensemble {
using base::Status;
using base::StatusOr;

namespace {

constexpr char kLoss[] = "loss";
constexpr char kLossOfAll[] = "all";

namespace fs = std::filesystem;

// From here on a copy takes room that is worth a common inode.
constexpr std::uintmax_t kLargeFile = std::uintmax_t{64} << 20;

// Another name for the same blocks: by file systems that copy on write as a file of its own, else
// as a hard link. False where neither can be had: across devices, or of somebody else's file.
bool ShareBlocks(const std::string& from, const std::string& to) {
  const int source = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (source < 0) return false;
  const int target = ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  const bool is_cloned = target >= 0 && ::ioctl(target, FICLONE, source) == 0;
  ::close(source);
  if (target >= 0) ::close(target);
  if (is_cloned) return true;
  ::unlink(to.c_str());
  return ::link(from.c_str(), to.c_str()) == 0;
}

Status CopyFile(const std::string& from, const std::string& to) {
  std::error_code error;
  const fs::perms mode = fs::status(from, error).permissions();
  SUBMIX_ASSIGN_OR_RETURN(const base::MappedFile file, base::MapFile(from));
  return base::WriteFile(to, {reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()},
                         static_cast<int>(mode & fs::perms::all));
}

}  // namespace

Status CopyFiles(const std::string& from, const std::string& to) {
  std::error_code error;
  if (!fs::is_directory(from, error)) return CopyFile(from, to);
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(to));
  SUBMIX_ASSIGN_OR_RETURN(const auto names, base::ListDirectory(from));
  for (const std::string& name : names) {
    SUBMIX_RETURN_IF_ERROR(CopyFiles(base::JoinPath(from, name), base::JoinPath(to, name)));
  }
  return base::OkStatus();
}

Status ShareFile(const std::string& from, const std::string& to) {
  std::error_code error;
  const std::string file = fs::canonical(from, error).string();  // a link's own place may go away
  const std::uintmax_t bytes = error ? 0 : fs::file_size(file, error);
  if (!error && bytes >= kLargeFile) {
    if (fs::equivalent(file, to, error)) return base::OkStatus();  // of an interrupted run
    SUBMIX_RETURN_IF_ERROR(base::RemoveAll(to));
    if (ShareBlocks(file, to)) return base::OkStatus();
  }
  return CopyFile(from, to);
}

namespace {

Status CopyNamed(const std::vector<std::string>& names, const std::string& from,
                 const std::string& to) {
  for (const std::string& name : names) {
    const std::string source = base::JoinPath(from, name);
    if (!base::FileExists(source)) {
      return base::NotFoundError(source +
                                 ": missing; a public model needs config.json, model.safetensors "
                                 "(or its shards) and a tokenizer");
    }
    SUBMIX_RETURN_IF_ERROR(ShareFile(source, base::JoinPath(to, name)));
  }
  return base::OkStatus();
}

}  // namespace

Status CopyPublicModel(const std::string& from, const std::string& to) {
  SUBMIX_RETURN_IF_ERROR(CopyTokenizer(from, to));
  SUBMIX_ASSIGN_OR_RETURN(std::vector<std::string> names, model::WeightFiles::FileNames(from));
  names.emplace_back("config.json");
  if (base::FileExists(base::JoinPath(from, kTrainingCostFile))) {
    names.emplace_back(kTrainingCostFile);
  }
  return CopyNamed(names, from, to);
}

Status CopyTokenizer(const std::string& from, const std::string& to) {
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(to));
  SUBMIX_ASSIGN_OR_RETURN(const auto names, tokenizer::Tokenizer::FileNames(from));
  return CopyNamed(names, from, to);
}

StatusOr<base::HashKey> PreparePartitionKey(const std::string& ensemble_directory,
                                            const std::string& key_path) {
  const std::string path = PartitionKeyPath(ensemble_directory);
  if (base::FileExists(path)) return corpus::LoadPartitionKey(path);
  base::HashKey key = corpus::NewPartitionKey();
  if (!key_path.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(key, corpus::LoadPartitionKey(key_path));
  }
  SUBMIX_RETURN_IF_ERROR(corpus::SavePartitionKey(key, path));
  return key;
}

Manifest NewManifest(const corpus::PartitionOptions& partition, std::string partition_key_id,
                     std::map<std::string, std::string> hyper_parameters) {
  Manifest manifest;
  manifest.partition_key_id = std::move(partition_key_id);
  manifest.num_parts = partition.num_parts;
  manifest.halves = partition.halves;
  manifest.heldout_fraction = partition.heldout_fraction;
  manifest.hyper_parameters = std::move(hyper_parameters);
  for (int part = 0; part < manifest.num_parts; ++part) {
    for (int half = 0; half < manifest.halves; ++half) {
      MemberEntry& member = manifest.members.emplace_back();
      member.directory = MemberDirectory(part, half, manifest.num_parts, manifest.halves);
      member.generation = 1;
    }
  }
  return manifest;
}

bool HasSameOptions(const Manifest& found, const Manifest& wanted) {
  return found.num_parts == wanted.num_parts && found.halves == wanted.halves &&
         found.heldout_fraction == wanted.heldout_fraction &&
         found.partition_key_id == wanted.partition_key_id &&
         found.hyper_parameters == wanted.hyper_parameters;
}

void AddLoss(corpus::Loss loss, std::map<std::string, std::string>& hyper_parameters) {
  if (loss == corpus::Loss::kAll) hyper_parameters[kLoss] = kLossOfAll;
}

StatusOr<corpus::Loss> LossFrom(const std::map<std::string, std::string>& hyper_parameters) {
  const auto found = hyper_parameters.find(kLoss);
  if (found == hyper_parameters.end()) return corpus::Loss::kAnswers;
  if (found->second == kLossOfAll) return corpus::Loss::kAll;
  return base::DataLossError("manifest.json: the hyper-parameter loss is there and not all");
}

Status CheckIsPublic(const std::string& public_directory) {
  SUBMIX_ASSIGN_OR_RETURN(const auto earlier, LoadTrainingCost(public_directory));
  if (!earlier.has_value()) return base::OkStatus();
  return base::FailedPreconditionError(
      public_directory +
      ": was itself trained on private text, and one statement cannot say both costs; start from "
      "a public model");
}

StatusOr<std::unique_ptr<tokenizer::Tokenizer>> LoadFittingTokenizer(
    const std::string& public_directory) {
  SUBMIX_ASSIGN_OR_RETURN(
      const auto config, model::LoadDecoderConfig(base::JoinPath(public_directory, "config.json")));
  SUBMIX_RETURN_IF_ERROR(model::LoadEndTokens(public_directory).status());
  return tokenizer::Tokenizer::LoadFor(public_directory, config.vocab_size);
}

}  // namespace submix::ensemble
