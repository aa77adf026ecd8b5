// `submix forget`: unlearn a user, and go on with the same ledger.
#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

#include "submix/apps/measuring/corpus_flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/report.h"
#include "submix/base/progress_bar.h"
#include "submix/contexts/context_ensemble.h"
#include "submix/engine/deployment_changes.h"
#include "submix/ensemble/opened_ensemble.h"
#include "submix/train/fine_tuning/forgetting.h"
#include "submix/workbench/ensembles/forgotten_user.h"

namespace submix::apps {
namespace {

base::StatusOr<ensemble::ForgetResult> Forget(const workbench::ForgetRequest& request,
                                              const ensemble::OpenedEnsemble& ensemble) {
  const ensemble::Manifest& manifest = ensemble.manifest();
  SUBMIX_ASSIGN_OR_RETURN(const bool was_held_out, workbench::WasHeldOut(request, ensemble));
  if (was_held_out) return ensemble::ForgetResult{"", manifest.generation, false};
  if (manifest.contexts.has_value() && !manifest.contexts->has_adapters) {
    return contexts::ForgetRecords(request.ensemble, request.user);
  }
  if (request.corpus.path.empty()) {
    return base::InvalidArgumentError(
        "--corpus is required: the member is trained again on what is left of its text");
  }
  return train::ForgetUser(request.ensemble, request.corpus, request.user,
                           base::DetectProgressStyle(),
                           manifest.contexts.has_value() ? workbench::MoveRecords : nullptr);
}

std::string WhatChanged(const ensemble::Manifest& manifest) {
  if (!manifest.contexts.has_value()) return "was trained again";
  return manifest.contexts->has_adapters ? "was trained again and reads" : "reads";
}

void PrintForgotten(const ensemble::ForgetResult& result, const ensemble::Manifest& manifest) {
  if (result.member.empty()) {
    std::printf("The user was held out: no member ever read the text.\n");
    return;
  }
  std::printf("%sNow delete the user's records from the corpus.\n",
              Paragraph("Forgotten: " + result.member + " " + WhatChanged(manifest) +
                        " without the user (generation " + std::to_string(result.generation) +
                        "). What was spent stays spent.")
                  .c_str());
  if (result.is_public_model) {
    std::printf("%s", Paragraph("For you alone: nobody's text is left for that member, which is "
                                "the public model now.")
                          .c_str());
  }
}

void PrintForgottenJson(const ensemble::ForgetResult& result) {
  const nlohmann::ordered_json object = {{"was_held_out", result.member.empty()},
                                         {"member", result.member},
                                         {"generation", result.generation},
                                         {"is_public_model", result.is_public_model}};
  std::printf("%s\n", object.dump().c_str());
}

struct ForgetOptions {
  workbench::ForgetRequest request;
  bool json = false;
};

base::Status RunForget(const ForgetOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const workbench::ForgetRequest request,
                          workbench::InItsBatch(options.request));
  SUBMIX_ASSIGN_OR_RETURN(const auto ensemble, ensemble::OpenedEnsemble::Open(request.ensemble));
  const ensemble::Manifest& manifest = ensemble.manifest();
  if (!manifest.contexts.has_value()) SUBMIX_RETURN_IF_ERROR(ensemble.CheckHasModels());
  SUBMIX_RETURN_IF_ERROR(workbench::CheckNamesItsDeployment(request, ensemble));
  if (!request.deployment.empty()) {
    // An interrupted forget is finished first: the ledger follows one generation at a time.
    SUBMIX_RETURN_IF_ERROR(engine::RebindDeployment(request.deployment));
  }
  SUBMIX_ASSIGN_OR_RETURN(const ensemble::ForgetResult result, Forget(request, ensemble));
  if (!request.deployment.empty()) {
    SUBMIX_RETURN_IF_ERROR(engine::RebindDeployment(request.deployment));
  }
  if (options.json) {
    PrintForgottenJson(result);
  } else {
    PrintForgotten(result, manifest);
  }
  return base::OkStatus();
}

}  // namespace

void AddForgetCommand(CLI::App& command, Action& action) {
  auto& options = SetAction<ForgetOptions>(command, action, RunForget);
  workbench::ForgetRequest& request = options.request;
  Flags flags(command);
  flags.Require("ensemble", request.ensemble, kDirectory,
                "Directory made by `submix train` or `submix contexts`");
  flags.Add(
      "--corpus", request.corpus.path, kFile,
      "The corpus it was made of; the user's records in it are not read. Where members read "
      "contexts without adapters it is needed to tell a held-out user from a wrong key alone");
  AddColumnFlags(flags, request.corpus);
  flags.Require("--user", request.user, "The user key");
  flags.Add("--deployment", request.deployment, kDirectory, "Its deployment, if it has one");
  flags.Add("--json", options.json, "One JSON object, for you alone");
  command.footer(
      "Stop the server first. Exact for the models; what the user's text has cost so far stays\n"
      "in the spent budget, which covers it (docs/privacy.md).\n"
      "Example: submix forget my_ensemble --corpus text.jsonl --user u00017 --deployment "
      "my_deployment");
}

}  // namespace submix::apps
