#include "submix/train/ensemble_training.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/corpus/user_tokens.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/manifest.h"
#include "submix/model/gpt_config.h"
#include "submix/tokenizer/tokenizer.h"
#include "submix/train/member_recipe.h"

namespace submix::train {
namespace {

using base::Status;
using base::StatusOr;

constexpr const char* kPublicFiles[] = {"config.json", "vocab.json", "merges.txt",
                                        "model.safetensors"};

Status CopyFiles(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::copy(
      from, to,
      std::filesystem::copy_options::overwrite_existing | std::filesystem::copy_options::recursive,
      error);
  if (!error) return base::OkStatus();
  const std::string message = "copying " + from + " to " + to + " failed: " + error.message();
  if (error == std::errc::no_space_on_device) return base::ResourceExhaustedError(message);
  return base::InternalError(message);
}

Status CopyPublicModel(const std::string& from, const std::string& ensemble_directory) {
  const std::string to = ensemble::PublicDirectory(ensemble_directory);
  SUBMIX_RETURN_IF_ERROR(base::PosixFileSystem().MakeDirectories(to));
  for (const char* name : kPublicFiles) {
    const std::string source = base::JoinPath(from, name);
    if (!base::PosixFileSystem().Exists(source)) {
      return base::NotFoundError(source +
                                 ": missing; a public model needs config.json, "
                                 "vocab.json, merges.txt and model.safetensors");
    }
    SUBMIX_RETURN_IF_ERROR(CopyFiles(source, base::JoinPath(to, name)));
  }
  return base::OkStatus();
}

StatusOr<base::HashKey> PrepareKey(const EnsembleTrainingOptions& options) {
  const std::string path = ensemble::PartitionKeyPath(options.ensemble_directory);
  if (base::PosixFileSystem().Exists(path)) return corpus::LoadPartitionKey(path);
  base::HashKey key = corpus::NewPartitionKey();
  if (!options.partition_key_path.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(key, corpus::LoadPartitionKey(options.partition_key_path));
  }
  SUBMIX_RETURN_IF_ERROR(corpus::SavePartitionKey(key, path));
  return key;
}

StatusOr<std::unique_ptr<tokenizer::Tokenizer>> LoadFittingTokenizer(
    const std::string& public_directory) {
  SUBMIX_ASSIGN_OR_RETURN(auto tokenizer, tokenizer::Tokenizer::Load(public_directory));
  SUBMIX_ASSIGN_OR_RETURN(const auto config,
                          model::LoadGptConfig(base::JoinPath(public_directory, "config.json")));
  if (tokenizer->vocab_size() != config.vocab_size) {
    return base::FailedPreconditionError(
        public_directory + ": vocab.json has " + std::to_string(tokenizer->vocab_size()) +
        " entries, the model " + std::to_string(config.vocab_size) +
        ": this vocabulary does not fit the model");
  }
  return tokenizer;
}

ensemble::Manifest NewManifest(const EnsembleTrainingOptions& options, const base::HashKey& key) {
  ensemble::Manifest manifest;
  manifest.partition_key_id = corpus::PartitionKeyId(key);
  manifest.num_parts = options.partition.num_parts;
  manifest.halves = options.partition.halves;
  manifest.heldout_fraction = options.partition.heldout_fraction;
  manifest.hyper_parameters = HyperParameters(options.fine_tune);
  for (int part = 0; part < manifest.num_parts; ++part) {
    for (int half = 0; half < manifest.halves; ++half) {
      ensemble::MemberEntry member;
      member.directory = ensemble::MemberDirectory(part, half, manifest.num_parts, manifest.halves);
      member.generation = 1;
      manifest.members.push_back(member);
    }
  }
  return manifest;
}

Status CheckSameEnsemble(const ensemble::Manifest& found, const ensemble::Manifest& wanted,
                         const std::string& directory) {
  if (found.num_parts == wanted.num_parts && found.halves == wanted.halves &&
      found.heldout_fraction == wanted.heldout_fraction &&
      found.partition_key_id == wanted.partition_key_id &&
      found.hyper_parameters == wanted.hyper_parameters) {
    return base::OkStatus();
  }
  return base::FailedPreconditionError(
      directory +
      ": holds an ensemble of other options; give a new directory, "
      "or the options that it was begun with");
}

// Copies the members whose recipe a complete member of another ensemble had.
Status ReuseMembers(const std::string& reuse_directory, const std::string& ensemble_directory,
                    const ensemble::Manifest& manifest) {
  if (reuse_directory.empty()) return base::OkStatus();
  SUBMIX_ASSIGN_OR_RETURN(const auto other, ensemble::LoadManifest(reuse_directory));
  for (const ensemble::MemberEntry& wanted : manifest.members) {
    const std::string target = ensemble::MemberPath(ensemble_directory, wanted);
    if (base::PosixFileSystem().Exists(target)) continue;
    for (const ensemble::MemberEntry& member : other.members) {
      if (!member.complete || member.recipe_sha256 != wanted.recipe_sha256) continue;
      const std::string unfinished = target + ".partial";
      SUBMIX_RETURN_IF_ERROR(base::PosixFileSystem().RemoveAll(unfinished));
      SUBMIX_RETURN_IF_ERROR(CopyFiles(ensemble::MemberPath(reuse_directory, member), unfinished));
      SUBMIX_RETURN_IF_ERROR(base::PosixFileSystem().Rename(unfinished, target));
      break;
    }
  }
  return base::OkStatus();
}

}  // namespace

Status TrainEnsemble(const EnsembleTrainingOptions& options, base::ProgressStyle progress) {
  const std::string& directory = options.ensemble_directory;
  base::FileSystem& files = base::PosixFileSystem();
  SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer, LoadFittingTokenizer(options.public_directory));
  SUBMIX_RETURN_IF_ERROR(files.MakeDirectories(base::JoinPath(directory, "members")));
  SUBMIX_RETURN_IF_ERROR(files.MakePrivate(directory));
  SUBMIX_ASSIGN_OR_RETURN(const auto lock, ensemble::LockEnsemble(directory));
  SUBMIX_ASSIGN_OR_RETURN(const auto key, PrepareKey(options));
  ensemble::Manifest manifest = NewManifest(options, key);
  if (files.Exists(ensemble::ManifestPath(directory))) {
    SUBMIX_ASSIGN_OR_RETURN(ensemble::Manifest found, ensemble::LoadManifest(directory));
    SUBMIX_RETURN_IF_ERROR(CheckSameEnsemble(found, manifest, directory));
    manifest = std::move(found);
    if (std::ranges::all_of(manifest.members, &ensemble::MemberEntry::complete)) {
      return base::OkStatus();
    }
  }
  SUBMIX_ASSIGN_OR_RETURN(
      auto corpus, corpus::PartitionCorpus(options.corpus, *tokenizer, key, options.partition));
  SUBMIX_RETURN_IF_ERROR(CopyPublicModel(options.public_directory, directory));
  SUBMIX_ASSIGN_OR_RETURN(const std::string public_sha256, PublicModelSha256(directory));
  std::vector<MemberTask> tasks;
  for (std::size_t m = 0; m < manifest.members.size(); ++m) {
    ensemble::MemberEntry& member = manifest.members[m];
    tasks.push_back(MakeMemberTask(ensemble::MemberPath(directory, member), m, corpus.members[m],
                                   options.fine_tune));
    const std::string recipe = RecipeDigest(tasks.back(), manifest, public_sha256);
    if (!member.recipe_sha256.empty() && member.recipe_sha256 != recipe) {
      return base::FailedPreconditionError(
          directory + ": begun with another corpus or public model; give a new directory");
    }
    member.recipe_sha256 = recipe;
    member.steps = PlannedSteps(tasks.back(), options.fine_tune);
  }
  SUBMIX_RETURN_IF_ERROR(ensemble::SaveManifest(manifest, directory));
  SUBMIX_RETURN_IF_ERROR(ReuseMembers(options.reuse_directory, directory, manifest));
  SUBMIX_RETURN_IF_ERROR(
      FineTuneMembers(ensemble::PublicDirectory(directory), tasks, options.fine_tune, progress));
  for (ensemble::MemberEntry& member : manifest.members) member.complete = true;
  SUBMIX_RETURN_IF_ERROR(ensemble::HashFiles(manifest, directory));
  return ensemble::SaveManifest(manifest, directory);
}

}  // namespace submix::train
