// `submix forget`: unlearn a user, and go on with the same ledger.
#include <cstdio>
#include <optional>
#include <string>

#include "submix/apps/measuring/corpus_flags.h"
#include "submix/apps/program_commands.h"
#include "submix/contexts/context_ensemble.h"
#include "submix/corpus/partition.h"
#include "submix/engine/deployment.h"
#include "submix/engine/deployment_changes.h"
#include "submix/ensemble/batches.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/opened_ensemble.h"
#include "submix/ensemble/preparation/user_list.h"
#include "submix/train/fine_tuning/forgetting.h"

namespace submix::apps {
namespace {

struct ForgetOptions {
  std::string ensemble;
  corpus::CorpusFile corpus;
  std::string user;
  std::string deployment;
};

// The deployment must be the ensemble's own: otherwise its ledger would be left behind.
base::Status CheckDeployment(const ForgetOptions& options, const ensemble::Manifest& manifest) {
  if (manifest.deployments.empty()) return base::OkStatus();
  const ensemble::DeploymentEntry& entry = manifest.deployments.front();
  if (options.deployment.empty()) {
    return base::InvalidArgumentError(
        options.ensemble + ": deployed as " + entry.name +
        "; give its directory with --deployment, so that the same ledger goes on");
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto config, engine::LoadDeploymentConfig(options.deployment));
  if (config.lineage == entry.lineage) return base::OkStatus();
  return base::FailedPreconditionError(options.deployment + ": a deployment of another ensemble");
}

base::Status MoveRecords(const std::string& mark, const std::string& old_directory,
                         const std::string& new_directory) {
  SUBMIX_ASSIGN_OR_RETURN(const auto remaining,
                          contexts::RecordsWithoutUser(mark, old_directory, new_directory));
  return contexts::SaveRecords(remaining.records, new_directory);
}

// A key that nobody had is placed as any other is; only the list of users and the corpus know.
// None: a member has read the user, or there is no list. Errors: kNotFound for whom nobody knows.
base::StatusOr<std::optional<ensemble::ForgetResult>> HeldOut(const ForgetOptions& options,
                                                              const ensemble::Manifest& manifest) {
  SUBMIX_ASSIGN_OR_RETURN(const auto listed,
                          ensemble::UsersOnList(options.ensemble, {options.user}));
  if (!listed.has_value() || !listed->empty()) return std::optional<ensemble::ForgetResult>();
  const base::Status nobody =
      base::NotFoundError(options.ensemble +
                          ": no member reads a record of this user: check the key, byte by byte; "
                          "with --corpus, the one "
                          "that the ensemble was made of, held-out users are told from wrong keys");
  if (options.corpus.path.empty()) return nobody;
  SUBMIX_ASSIGN_OR_RETURN(const bool is_there, corpus::HasUser(options.corpus, options.user));
  if (!is_there) {
    return base::NotFoundError(options.corpus.path +
                               ": no record of this user; check the key, and give the corpus that "
                               "the ensemble was made of");
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto key,
                          corpus::LoadPartitionKey(ensemble::PartitionKeyPath(options.ensemble)));
  const corpus::Placement place = corpus::PlaceUser(
      key, options.user, {manifest.num_parts, manifest.halves, manifest.heldout_fraction});
  if (!place.is_heldout) return nobody;
  return std::optional(ensemble::ForgetResult{"", manifest.generation, false});
}

base::StatusOr<ensemble::ForgetResult> Forget(const ForgetOptions& options,
                                              const ensemble::Manifest& manifest) {
  const bool has_adapters = !manifest.contexts.has_value() || manifest.contexts->has_adapters;
  SUBMIX_ASSIGN_OR_RETURN(const auto held_out, HeldOut(options, manifest));
  if (held_out.has_value()) return *held_out;
  if (!has_adapters) {
    return contexts::ForgetRecords(options.ensemble, options.user);
  }
  if (options.corpus.path.empty()) {
    return base::InvalidArgumentError(
        "--corpus is required: the member is trained again on what is left of its text");
  }
  return train::ForgetUser(options.ensemble, options.corpus, options.user,
                           base::DetectProgressStyle(),
                           manifest.contexts.has_value() ? MoveRecords : nullptr);
}

std::string WhatChanged(const ensemble::Manifest& manifest) {
  if (!manifest.contexts.has_value()) return "was trained again";
  return manifest.contexts->has_adapters ? "was trained again and reads" : "reads";
}

// Of batches, the one that has read this user.
base::Status ChooseBatch(ForgetOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const auto batches, ensemble::BatchesIn(options.ensemble));
  if (batches.empty()) return base::OkStatus();
  SUBMIX_ASSIGN_OR_RETURN(const auto key,
                          corpus::LoadPartitionKey(ensemble::PartitionKeyPath(batches.front())));
  const auto count = static_cast<int>(batches.size());
  const int batch = corpus::BatchOf(key, options.user, count);
  options.ensemble = batches[static_cast<std::size_t>(batch)];
  // The directory of all their deployments, or already that of this batch's.
  if (!options.deployment.empty() &&
      !base::FileExists(engine::DeploymentConfigPath(options.deployment))) {
    options.deployment = ensemble::BatchDirectory(options.deployment, batch, count);
  }
  return base::OkStatus();
}

base::Status RunForget(ForgetOptions options) {
  SUBMIX_RETURN_IF_ERROR(ChooseBatch(options));
  SUBMIX_ASSIGN_OR_RETURN(const auto ensemble, ensemble::OpenedEnsemble::Open(options.ensemble));
  const ensemble::Manifest& manifest = ensemble.manifest();
  if (!manifest.contexts.has_value()) SUBMIX_RETURN_IF_ERROR(ensemble.CheckHasModels());
  SUBMIX_RETURN_IF_ERROR(CheckDeployment(options, manifest));
  if (!options.deployment.empty()) {
    // An interrupted forget is finished first: the ledger follows one generation at a time.
    SUBMIX_RETURN_IF_ERROR(engine::RebindDeployment(options.deployment));
  }
  SUBMIX_ASSIGN_OR_RETURN(const ensemble::ForgetResult result, Forget(options, manifest));
  if (!options.deployment.empty()) {
    SUBMIX_RETURN_IF_ERROR(engine::RebindDeployment(options.deployment));
  }
  if (result.member.empty()) {
    std::printf("The user was held out: no member ever read the text.\n");
    return base::OkStatus();
  }
  std::printf(
      "Forgotten: %s %s without the user (generation %d). What was spent stays spent.\n"
      "Now delete the user's records from the corpus.\n",
      result.member.c_str(), WhatChanged(manifest).c_str(), result.generation);
  if (result.is_public_model) {
    std::printf(
        "For you alone: nobody's text is left for that member, which is the public model now.\n");
  }
  return base::OkStatus();
}

}  // namespace

void AddForgetCommand(CLI::App& command, Action& action) {
  ForgetOptions& options = SetAction<ForgetOptions>(command, action, RunForget);
  Flags flags(command);
  flags.Require("ensemble", options.ensemble, kDirectory,
                "Directory made by `submix train` or `submix contexts`");
  flags.Add(
      "--corpus", options.corpus.path, kFile,
      "The corpus it was made of; the user's records in it are not read. Where members read "
      "contexts without adapters it is needed to tell a held-out user from a wrong key alone");
  AddColumnFlags(flags, options.corpus);
  flags.Require("--user", options.user, "The user key");
  flags.Add("--deployment", options.deployment, kDirectory, "Its deployment, if it has one");
  command.footer(
      "Stop the server first. Exact for the models; what the user's text has cost so far stays\n"
      "in the spent budget, which covers it (docs/privacy.md).\n"
      "Example: submix forget my_ensemble --corpus text.jsonl --user u00017 --deployment "
      "my_deployment");
}

}  // namespace submix::apps
