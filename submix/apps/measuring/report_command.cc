// `submix report`: one page about a deployment that a privacy officer can read.
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/serving/any_deployment.h"
#include "submix/apps/serving/declared_file.h"
#include "submix/base/file_system.h"
#include "submix/eval/pages/report.h"

namespace submix::apps {
namespace {

struct ReportOptions {
  std::string deployment;
  std::vector<std::string> results;
  std::string output = "report.html";
  bool json = false;
};

base::Status RunReport(const ReportOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const auto deployment, ReadDeployment(options.deployment));
  const std::string name = base::BaseName(base::CanonicalPath(options.deployment));
  eval::ReportedDeployment reported = {deployment, name, std::time(nullptr)};
  SUBMIX_ASSIGN_OR_RETURN(reported.declared, DeclaredOf(options.deployment));
  if (options.json) {
    std::printf("%s", eval::PublicReportJson(reported).c_str());
    return base::OkStatus();
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto measurements,
                          eval::LoadMeasurements(eval::MeasurementsDirectory(options.deployment)));
  SUBMIX_ASSIGN_OR_RETURN(const std::string page,
                          eval::DeploymentReport(reported, measurements, options.results));
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
  CLI::Option* const results =
      flags.Add("--results", options.results, kDirectory,
                "Further directories, with what `submix reproduce`, and `attack` and `audit` of an "
                "ensemble wrote (CSV, SVG)");
  CLI::Option* const output =
      flags.Add("--out", options.output, kOutputFile, "The page; default report.html");
  flags
      .Add("--json", options.json,
           "Instead print what may be published, as JSON: promise, declaration, statements, and "
           "the guidelines of NIST SP 800-226")
      ->excludes(results)
      ->excludes(output);
  command.footer(
      "The page is self-contained: promise, budget (the ledger's whole chain is\n"
      "checked), what `attack`, `audit` and `evaluate` left beside the deployment, what\n"
      "is not covered, what was declared, the guidelines of NIST SP 800-226. It shows\n"
      "what has been spent: it is the operator's and the privacy officer's.\n"
      "Example: submix report my_deployment --out report.html");
}

}  // namespace submix::apps
