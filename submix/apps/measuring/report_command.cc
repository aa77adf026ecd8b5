// `submix report`: one page about a deployment that a privacy officer can read.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "submix/apps/program_commands.h"
#include "submix/base/file_system.h"
#include "submix/engine/deployment.h"
#include "submix/eval/pages/report.h"

namespace submix::apps {
namespace {

struct ReportOptions {
  std::string deployment;
  std::vector<std::string> results;
  std::string output = "report.html";
};

base::Status RunReport(const ReportOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(
      const auto deployment,
      engine::OpenDeployment(options.deployment, engine::DeploymentAccess::kReadOnly));
  SUBMIX_ASSIGN_OR_RETURN(const std::string page,
                          eval::DeploymentReport(deployment, options.results));
  // It shows what has been spent: nobody else's business.
  SUBMIX_RETURN_IF_ERROR(base::WriteFile(options.output, page, 0600));
  std::printf("%s\n", options.output.c_str());
  return base::OkStatus();
}

}  // namespace

void AddReportCommand(CLI::App& command, Action& action) {
  auto options = std::make_shared<ReportOptions>();
  command.add_option("deployment", options->deployment, "Directory made by `submix deploy`")
      ->required()
      ->check(CLI::ExistingDirectory);
  command
      .add_option("--results", options->results,
                  "Directories with what `submix reproduce`, `attack` and `audit` wrote (CSV, SVG)")
      ->delimiter(',')
      ->check(CLI::ExistingDirectory);
  command.add_option("--out", options->output, "The page; default report.html");
  command.footer(
      "The page is self-contained: promises, declarations, ledger (its whole chain is checked),\n"
      "figures, attacks, audits, provenance. It is the operator's: it shows what has been spent.\n"
      "Example: submix report my_deployment --results attacks,audits --out report.html");
  command.callback([options, &action] { action = [options] { return RunReport(*options); }; });
}

}  // namespace submix::apps
