// `submix contexts`: an ensemble whose members read their parts' records, instead of being trained
// or after it.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "submix/apps/measuring/corpus_flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/shell_word.h"
#include "submix/apps/training/ensemble_notes.h"
#include "submix/base/file_system.h"
#include "submix/contexts/context_ensemble.h"
#include "submix/ensemble/batches.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/opened_ensemble.h"
#include "submix/ensemble/predictor_checks.h"
#include "submix/ensemble/preparation/ensemble_preparation.h"
#include "submix/ensemble/preparation/user_list.h"
#include "submix/ensemble/training_cost.h"
#include "submix/mechanism/quantise.h"
#include "submix/model/decoder_config.h"
#include "submix/model/decoder_tensors.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;

// --- What `--adapters` takes over from a trained ensemble

// The manifest of an ensemble whose adapters can read. Errors: those of LoadManifest and
// VerifyFiles; kFailedPrecondition for members that are not trained yet, are whole models or no
// models here, or were trained with differential privacy. Requires: the ensemble's lock.
StatusOr<ensemble::Manifest> LoadTrainedEnsemble(const std::string& ensemble_directory) {
  SUBMIX_ASSIGN_OR_RETURN(const auto ensemble, ensemble::OpenedEnsemble::Open(ensemble_directory));
  const ensemble::Manifest& manifest = ensemble.manifest();
  SUBMIX_RETURN_IF_ERROR(ensemble.CheckHasModels());
  const auto refused = [&](const std::string& why) {
    return base::FailedPreconditionError(ensemble_directory + ": " + why);
  };
  if (manifest.hyper_parameters.contains("private")) {
    return refused(
        "trained with differential privacy, which bounds what all answers may know of a user; "
        "members that read its users' records would know more; take an ensemble of adapters");
  }
  if (!std::ranges::all_of(manifest.members, &ensemble::MemberEntry::complete)) {
    return refused("not trained yet; run the same `submix train` again to finish");
  }
  SUBMIX_RETURN_IF_ERROR(ensemble.VerifyFiles());
  for (const ensemble::MemberEntry& member : manifest.members) {
    if (!ensemble::IsAdapterDirectory(ensemble::MemberPath(ensemble_directory, member))) {
      return refused(member.directory +
                     " is a whole model; only adapters read records: `submix train` without "
                     "--full trains them");
    }
  }
  return manifest;
}

// Leaves the records of the users whom the adapters were trained on and have not forgotten, so that
// forgetting has one corpus for both. Returns how many users are left out. Errors:
// kFailedPrecondition if the ensemble has no list of its users.
StatusOr<std::int64_t> KeepTrainedUsers(const std::string& ensemble_directory,
                                        const ensemble::Manifest& manifest,
                                        const base::HashKey& key,
                                        contexts::PartitionedRecords& records) {
  SUBMIX_ASSIGN_OR_RETURN(const auto listed,
                          ensemble::UsersOnList(ensemble_directory, records.readers));
  if (!listed.has_value()) {
    return base::FailedPreconditionError(
        ensemble_directory +
        ": keeps no list of its users, so that nobody knows whose text its adapters know; train it "
        "again with this version");
  }
  std::set<std::string> kept;
  for (const std::string& user : *listed) kept.insert(corpus::ForgottenMark(key, user));
  for (const std::string& forgotten : manifest.forgotten) kept.erase(forgotten);
  for (auto& member : records.members) {
    std::erase_if(
        member, [&](const contexts::ContextRecord& record) { return !kept.contains(record.user); });
  }
  const std::int64_t all = std::ssize(records.readers);
  std::erase_if(records.readers, [&](const std::string& user) {
    return !kept.contains(corpus::ForgottenMark(key, user));
  });
  return all - std::ssize(records.readers);
}

// Copies the adapters and the list of users into a new ensemble, whose manifest it returns, the
// first of its own generations. Errors: those of CopyFiles.
StatusOr<ensemble::Manifest> CopyAdapters(const std::string& ensemble_directory,
                                          const ensemble::Manifest& manifest,
                                          const std::string& new_directory) {
  ensemble::Manifest copied =
      ensemble::NewManifest({manifest.num_parts, manifest.halves, manifest.heldout_fraction},
                            manifest.partition_key_id, manifest.hyper_parameters);
  copied.users = manifest.users;
  copied.forgotten = manifest.forgotten;
  SUBMIX_RETURN_IF_ERROR(ensemble::CopyFiles(ensemble::UserListPath(ensemble_directory),
                                             ensemble::UserListPath(new_directory)));
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(base::JoinPath(new_directory, "members")));
  for (std::size_t m = 0; m < copied.members.size(); ++m) {
    const ensemble::MemberEntry& from = manifest.members[m];
    ensemble::MemberEntry& to = copied.members[m];
    SUBMIX_RETURN_IF_ERROR(ensemble::CopyFiles(ensemble::MemberPath(ensemble_directory, from),
                                               ensemble::MemberPath(new_directory, to)));
    to.steps = from.steps;
    to.recipe_sha256 = from.recipe_sha256;
  }
  return copied;
}

// --- The command

struct ContextsOptions {
  std::string public_directory;
  std::string adapters;                       // a trained ensemble; empty: none
  std::optional<ensemble::Manifest> trained;  // its manifest
  corpus::CorpusFile corpus;
  std::string ensemble;
  corpus::PartitionOptions partition;
  std::string partition_key;
  int batches = 1;
  ensemble::Contexts contexts;
  std::string retrieval = ensemble::RetrievalName(ensemble::Retrieval::kNone);
  std::string template_file;
};

// Errors: kInvalidArgument if the public model has no room for the contexts and a query, or its
// tokenizer cannot cut a record into tokens.
Status CheckPublicModel(const ContextsOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer,
                          ensemble::LoadFittingTokenizer(options.public_directory));
  SUBMIX_RETURN_IF_ERROR(model::CheckWeights(options.public_directory));
  SUBMIX_RETURN_IF_ERROR(ensemble::LoadTrainingCost(options.public_directory).status());
  SUBMIX_ASSIGN_OR_RETURN(const auto config, model::LoadConfigOf(options.public_directory));
  const int tokens = options.contexts.tokens;
  if (tokens >= ensemble::Contexts::kLeastTokens && tokens <= config.context_length / 2) {
    SUBMIX_RETURN_IF_ERROR(contexts::FrameOf(options.contexts, *tokenizer).status());
    return contexts::CheckRecords(options.corpus, options.contexts, *tokenizer);
  }
  return base::InvalidArgumentError(
      "--context-tokens: expected " + std::to_string(ensemble::Contexts::kLeastTokens) + " to " +
      std::to_string(config.context_length / 2) + ", half of what " + options.public_directory +
      " holds, so that queries have room, found " + std::to_string(tokens));
}

Status ReadTemplate(const std::string& path, std::string& record_template) {
  if (path.empty()) return base::OkStatus();
  SUBMIX_ASSIGN_OR_RETURN(record_template, base::ReadFile(path));
  const Status checked = ensemble::CheckRecordTemplate(record_template);
  if (checked.ok()) return checked;
  return base::InvalidArgumentError(path + ": " + std::string(checked.message()));
}

std::vector<corpus::UserTokens> WithoutTokens(const std::vector<std::string>& users) {
  std::vector<corpus::UserTokens> listed;
  for (const std::string& user : users) listed.push_back({user, {}});
  return listed;
}

// A new ensemble without records, nor contexts in its manifest.
StatusOr<ensemble::Manifest> Prepare(const ContextsOptions& options, const base::HashKey& key,
                                     const std::vector<std::string>& readers,
                                     const std::string& directory) {
  if (options.trained.has_value()) {
    return CopyAdapters(options.adapters, *options.trained, directory);
  }
  const std::vector<corpus::UserTokens> users = WithoutTokens(readers);
  SUBMIX_RETURN_IF_ERROR(ensemble::SaveUserList(directory, key, std::span(&users, 1)));
  ensemble::Manifest manifest = ensemble::NewManifest(
      options.partition, corpus::PartitionKeyId(key), {{"method", "contexts"}});
  manifest.users = std::ssize(users);
  return manifest;
}

// One ensemble, of all users or of a batch of them.
Status Build(const ContextsOptions& options, const base::HashKey& key,
             const contexts::PartitionedRecords& records, const std::string& directory) {
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(directory));
  SUBMIX_RETURN_IF_ERROR(base::MakePrivate(directory));
  SUBMIX_RETURN_IF_ERROR(corpus::SavePartitionKey(key, ensemble::PartitionKeyPath(directory)));
  SUBMIX_RETURN_IF_ERROR(
      ensemble::CopyPublicModel(options.public_directory, ensemble::PublicDirectory(directory)));
  SUBMIX_ASSIGN_OR_RETURN(ensemble::Manifest manifest,
                          Prepare(options, key, records.readers, directory));
  manifest.contexts = options.contexts;
  return contexts::SaveContextEnsemble(records.members, std::move(manifest), directory);
}

// Public model and partition are the trained ensemble's. Errors: LoadTrainedEnsemble's.
Status TakeOver(ContextsOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(options.trained, LoadTrainedEnsemble(options.adapters));
  options.public_directory = ensemble::PublicDirectory(options.adapters);
  options.partition = {options.trained->num_parts, options.trained->halves,
                       options.trained->heldout_fraction};
  options.partition_key = ensemble::PartitionKeyPath(options.adapters);
  options.contexts.has_adapters = true;
  return base::OkStatus();
}

Status BuildAll(const ContextsOptions& options, const std::string& directory) {
  base::HashKey key = corpus::NewPartitionKey();
  if (!options.partition_key.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(key, corpus::LoadPartitionKey(options.partition_key));
  }
  SUBMIX_RETURN_IF_ERROR(base::RemoveAll(directory));
  SUBMIX_ASSIGN_OR_RETURN(
      auto batches, contexts::PartitionRecords(options.corpus, key, options.partition,
                                               options.batches, options.contexts.public_keys));
  if (options.trained.has_value()) {
    SUBMIX_ASSIGN_OR_RETURN(
        const std::int64_t left_out,
        KeepTrainedUsers(options.adapters, *options.trained, key, batches.front()));
    if (left_out > 0) {
      std::printf("For you alone: %lld user(s) are left out, whom no adapter was trained on.\n",
                  static_cast<long long>(left_out));
    }
  }
  if (options.batches == 1) return Build(options, key, batches.front(), directory);
  for (int batch = 0; batch < options.batches; ++batch) {
    SUBMIX_RETURN_IF_ERROR(Build(options, key, batches[static_cast<std::size_t>(batch)],
                                 ensemble::BatchDirectory(directory, batch, options.batches)));
  }
  return base::OkStatus();
}

void PrintSummary(const ContextsOptions& options) {
  std::printf(
      "%s holds %s%d parts, %d member(s) each, that read %d tokens. Next: submix deploy %s "
      "DEPLOYMENT\n",
      options.ensemble.c_str(),
      options.batches == 1 ? "" : (std::to_string(options.batches) + " batches of ").c_str(),
      options.partition.num_parts, options.partition.halves, options.contexts.tokens,
      ShellWord(options.ensemble).c_str());
}

// Beside its place, and renamed at the end: a crash leaves no half ensemble.
Status RunContexts(ContextsOptions options) {
  SUBMIX_ASSIGN_OR_RETURN(options.contexts.retrieval, ensemble::ParseRetrieval(options.retrieval));
  SUBMIX_RETURN_IF_ERROR(ReadTemplate(options.template_file, options.contexts.record_template));
  std::unique_ptr<base::FileLock> lock;  // on what is copied
  if (!options.adapters.empty()) {
    // What is no ensemble is left without a lock, too.
    SUBMIX_RETURN_IF_ERROR(ensemble::LoadManifest(options.adapters).status());
    SUBMIX_ASSIGN_OR_RETURN(lock, ensemble::LockEnsemble(options.adapters));
    SUBMIX_RETURN_IF_ERROR(TakeOver(options));
  }
  SUBMIX_RETURN_IF_ERROR(CheckPublicModel(options));
  if (const auto names = base::ListDirectory(options.ensemble); names.ok() && !names->empty()) {
    return base::AlreadyExistsError(options.ensemble +
                                    ": not empty; give a new directory for the ensemble");
  }
  SUBMIX_RETURN_IF_ERROR(
      SayWhatAddsUp({options.corpus, options.ensemble, options.public_directory}, {}, stdout));
  SUBMIX_RETURN_IF_ERROR(SayWhatStandsOut(options.corpus, /*names_cap=*/false, stdout));
  const std::string place = base::CanonicalPath(options.ensemble);
  const std::string unfinished = place + ".unfinished";
  Status made = BuildAll(options, unfinished);
  if (made.ok()) made = base::Rename(unfinished, place);
  if (!made.ok()) {
    (void)base::RemoveAll(unfinished);
    return made;
  }
  PrintSummary(options);
  if (options.batches == 1) return PrintMembersWithoutText(options.ensemble);
  SUBMIX_ASSIGN_OR_RETURN(const auto batches, ensemble::BatchesIn(options.ensemble));
  for (const std::string& batch : batches) SUBMIX_RETURN_IF_ERROR(PrintMembersWithoutText(batch));
  return base::OkStatus();
}

}  // namespace

void AddContextsCommand(CLI::App& command, Action& action) {
  ContextsOptions& options = SetAction<ContextsOptions>(command, action, RunContexts);
  Flags flags(command);
  options.partition.num_parts = 16;
  options.partition.heldout_fraction = 0.1;
  options.contexts.tokens = 256;
  RequireCorpus(flags, "corpus", "Private text", options.corpus);
  flags.Require("ensemble", options.ensemble, "Directory to make");
  CLI::App& readers = *command.add_option_group("readers", "who reads the records");
  readers.require_option(1);
  Flags(readers).Add("--public", options.public_directory, kDirectory,
                     "This public model, for each part: a directory in Hugging Face's layout");
  CLI::Option* const adapters = Flags(readers).Add(
      "--adapters", options.adapters, kDirectory,
      "Each part's adapter: an ensemble that `submix train` made of these users, "
      "whose parts and key are taken");
  flags
      .Add("--parts", options.partition.num_parts, Between(1, mechanism::kMaxParts),
           "Disjoint sets of users; more parts cost less privacy each")
      ->excludes(adapters);
  flags
      .Add("--batches", options.batches, Between(1, 100'000),
           "Disjoint batches of users, --parts parts in each: `submix synthesize` writes documents "
           "by each in turn, and a user pays for those of one batch alone")
      ->excludes(adapters);
  flags
      .Add("--halves", options.partition.halves, Between(1, 2),
           "Members a part: 2 makes the pairs that `submix` needs")
      ->excludes(adapters);
  flags
      .Add("--heldout-fraction", options.partition.heldout_fraction, Between(0.0, 0.9),
           "Share of the users kept for evaluation, never read")
      ->excludes(adapters);
  flags
      .Add("--partition-key", options.partition_key, kFile,
           "32-byte key file of another ensemble, to partition alike; default: a new secret")
      ->excludes(adapters);
  flags.Add("--context-tokens", options.contexts.tokens, kPositive,
            "Of its records each member reads so many tokens before a query; a public number, and "
            "the same work for all");
  flags.Add("--retrieval", options.retrieval, OneOf({"none", "bm25"}),
            "Which records: none: the same for all queries; bm25: those of its part that match the "
            "query best");
  flags.Add("--template", options.template_file, kFile,
            "A file of public text around every record, which stands for its {record}, such as "
            "\"Review: {record}\" and an empty line; without: each is a text of its own");
  flags
      .Add(
          "--public-keys", options.contexts.public_keys,
          "The list of users is public, and each part is one of them, so that one user is promised "
          "what one part is (docs/privacy.md, Public keys); users beyond the parts are not read")
      ->excludes(adapters);
  command.footer(
      "Nothing is trained: it takes seconds, and so does `submix forget`, which with --adapters\n"
      "trains one again. A query holds up others while the records that bm25 has found are\n"
      "read; without it they are read once.\n"
      "Example: submix contexts text.jsonl my_ensemble --public gpt2 --parts 32 --context-tokens "
      "256");
}

}  // namespace submix::apps
