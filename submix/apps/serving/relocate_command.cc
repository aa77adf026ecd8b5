// `submix relocate`: a deployment or its ensemble was moved.
#include <cstdio>
#include <string>

#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/engine/deployment_place.h"

namespace submix::apps {
namespace {

struct RelocateOptions {
  std::string deployment;
  std::string ensemble;
};

base::Status RunRelocate(const RelocateOptions& options) {
  SUBMIX_RETURN_IF_ERROR(engine::Relocate(options.deployment, options.ensemble));
  SUBMIX_ASSIGN_OR_RETURN(const auto config, engine::LoadDeploymentConfig(options.deployment));
  std::printf("%s and its ensemble, %s, name each other again.\n", options.deployment.c_str(),
              config.ensemble_directory.c_str());
  return base::OkStatus();
}

}  // namespace

void AddRelocateCommand(CLI::App& command, Action& action) {
  RelocateOptions& options = SetAction<RelocateOptions>(command, action, RunRelocate);
  Flags flags(command);
  flags.Require("deployment", options.deployment, kDirectory,
                "Directory made by `submix deploy`, where it is now");
  flags.Add("--ensemble", options.ensemble, kDirectory,
            "Where its ensemble is now; left out: where it was, or beside the deployment");
  command.footer(
      "Move both together and nothing needs to be said. Leave no copy behind: two copies of a "
      "ledger are two budgets for the same users.\n"
      "Example: submix relocate my_deployment --ensemble /srv/ensemble");
}

}  // namespace submix::apps
