// `submix report`: one page about a deployment that a privacy officer can read.
#include <cstdio>
#include <string>
#include <vector>

#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/serving/any_deployment.h"
#include "submix/base/file_system.h"
#include "submix/eval/pages/report.h"

namespace submix::apps {
namespace {

struct ReportOptions {
  std::string deployment;
  std::vector<std::string> results;
  std::string output = "report.html";
};

base::Status RunReport(const ReportOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const auto deployment, ReadDeployment(options.deployment));
  SUBMIX_ASSIGN_OR_RETURN(const std::string page,
                          eval::DeploymentReport(deployment, options.results));
  // It shows what has been spent: nobody else's business.
  SUBMIX_RETURN_IF_ERROR(base::WriteFile(options.output, page, 0600));
  std::printf("%s\n", options.output.c_str());
  return base::OkStatus();
}

}  // namespace

void AddReportCommand(CLI::App& command, Action& action) {
  ReportOptions& options = SetAction<ReportOptions>(command, action, RunReport);
  Flags flags(command);
  flags.Require("deployment", options.deployment, kDirectory, "Directory made by `submix deploy`");
  flags.Add("--results", options.results, kDirectory,
            "Directories with what `submix reproduce`, `attack` and `audit` wrote (CSV, SVG)");
  flags.Add("--out", options.output, kOutputFile, "The page; default report.html");
  command.footer(
      "The page is self-contained: promises, declarations, ledger (its whole chain is checked),\n"
      "figures, attacks, audits, provenance. It is the operator's: it shows what has been spent.\n"
      "Example: submix report my_deployment --results attacks,audits --out report.html");
}

}  // namespace submix::apps
