// `submix declare`: what the operator says of a deployment that no program can know.
#include <cstdio>
#include <string>

#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/serving/declared_file.h"
#include "submix/engine/deployment.h"

namespace submix::apps {
namespace {

struct DeclareOptions {
  std::string deployment;
  std::string file;
};

base::Status RunDeclare(const DeclareOptions& options) {
  SUBMIX_RETURN_IF_ERROR(engine::LoadDeploymentConfig(options.deployment).status());
  if (!options.file.empty()) return Declare(options.file, options.deployment);
  SUBMIX_ASSIGN_OR_RETURN(const eval::DeclaredStatements declared, DeclaredOf(options.deployment));
  std::printf("%s", DeclaredToml(declared).c_str());
  return base::OkStatus();
}

}  // namespace

void AddDeclareCommand(CLI::App& command, Action& action) {
  DeclareOptions& options = SetAction<DeclareOptions>(command, action, RunDeclare);
  Flags flags(command);
  flags.Require("deployment", options.deployment, kDirectory, "Directory made by `submix deploy`");
  flags.Add("file", options.file, kFile,
            "TOML file of statements, in place of what was declared before; left out: print what "
            "is declared, as such a file to edit");
  command.footer(
      "Where the public model comes from, other releases about the same people, how\n"
      "long things are kept, who holds the keys: statements for `submix report`, on\n"
      "which no charge depends.\n"
      "Example: submix declare my_deployment > declared.toml   # then edit it\n"
      "         submix declare my_deployment declared.toml");
}

}  // namespace submix::apps
