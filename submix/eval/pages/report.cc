#include "submix/eval/pages/report.h"

#include <algorithm>
#include <string_view>

#include "submix/accounting/fixed_nats.h"
#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/base/number_text.h"
#include "submix/engine/deployment_statement.h"
#include "submix/eval/pages/html_page.h"

namespace submix::eval {
namespace {

using base::Status;
using base::StatusOr;

// A longer table is for machines; its first lines are shown.
constexpr std::size_t kShownRows = 60;

std::string PromiseSection(const engine::Deployment& deployment) {
  return HtmlHeading("What is promised") +
         (deployment.mechanism->is_sound()
              ? ""
              : HtmlParagraph("RESEARCH: what is said below is NOT proven for every data set.")) +
         HtmlPromise(engine::DeploymentPromise(deployment)) +
         HtmlParagraph(
             "Nothing protects users from the operator, who holds text, adapters and ledger. "
             "People with several user keys, or whose words stand in others' text, are not "
             "one user to it. Timing is outside the proof.");
}

std::string DeclaredSection(const engine::Deployment& deployment) {
  const engine::DeploymentOptions& options = deployment.config.options;
  HtmlTable table({"declared", "value"});
  table.Row({"mechanism", options.mechanism.name});
  table.Row({"parts", std::to_string(deployment.ensemble.manifest().num_parts)});
  table.Row({"members a part", std::to_string(deployment.ensemble.manifest().halves)});
  table.Row({"order", options.mechanism.order.ToString()});
  table.Row({"budget of each part, nats", base::NumberText(options.epsilon)});
  table.Row({"most that one token costs a part, nats",
             base::NumberText(options.mechanism.target_leakage)});
  table.Row({"when a fixed number of tokens is used up",
             options.when_exhausted == engine::WhenExhausted::kRefuse
                 ? "clients are refused"
                 : "the public model answers"});
  return table.HtmlUnder("What was declared, once, before the first token");
}

StatusOr<std::string> LedgerSection(const engine::Deployment& deployment) {
  SUBMIX_RETURN_IF_ERROR(deployment.ledger->Verify());
  SUBMIX_ASSIGN_OR_RETURN(const auto accounts, deployment.ledger->Accounts());
  SUBMIX_ASSIGN_OR_RETURN(const auto head, deployment.ledger->head());
  HtmlTable table({"part", "spent, nats", "budget, nats", "share"});
  for (const ledger::Account& account : accounts) {
    const double spent = account.spent.ToNatsRoundedUp();
    const double budget = account.budget.ToNatsRoundedUp();
    table.Row({account.name, spent, budget, spent / budget});
  }
  return HtmlHeading("What has been spent") +
         HtmlParagraph(
             "The chain of " + std::to_string(head.records) +
             " records is whole, and its sums are the accounts'. Head: " + base::ToHex(head.hash)) +
         table.Html();
}

std::string ProvenanceSection(const engine::Deployment& deployment) {
  const ensemble::Manifest& manifest = deployment.ensemble.manifest();
  HtmlTable table({"of the members", "value"});
  for (const auto& [name, value] : manifest.hyper_parameters) table.Row({name, value});
  table.Row({"generation", std::to_string(manifest.generation)});
  table.Row({"users forgotten", std::to_string(manifest.forgotten.size())});
  table.Row({"fingerprint of public model and members",
             base::ToHex(deployment.config.ensemble_fingerprint)});
  table.Row({"ledger", deployment.config.lineage});
  return table.HtmlUnder("Where it comes from");
}

// The fields of one line, quotes undone. Empty if a quote is left open.
std::vector<std::string> CsvFields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  if (quoted) fields.clear();
  return fields;
}

// Numbers of another ensemble, or of this one before a user was forgotten, are said to be so.
std::string StrangersNote(const std::vector<std::vector<std::string>>& rows,
                          const std::string& fingerprint) {
  const auto& header = rows.front();
  const auto column = std::find(header.begin(), header.end(), kEnsembleColumn) - header.begin();
  if (column == std::ssize(header)) return "";
  for (std::size_t r = 1; r < rows.size(); ++r) {
    if (rows[r][static_cast<std::size_t>(column)] == fingerprint) continue;
    return HtmlParagraph(
        "NO EVIDENCE ABOUT THIS DEPLOYMENT: measured on the ensemble with fingerprint " +
        rows[r][static_cast<std::size_t>(column)] + ".");
  }
  return "";
}

StatusOr<std::string> CsvTable(const std::string& path, const std::string& fingerprint) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string content, base::ReadFile(path));
  std::vector<std::vector<std::string>> rows;
  for (std::size_t begin = 0; begin < content.size();) {
    const std::size_t end = std::min(content.find('\n', begin), content.size());
    rows.push_back(CsvFields(std::string_view(content).substr(begin, end - begin)));
    if (rows.back().empty() || rows.back().size() != rows.front().size()) {
      return base::InvalidArgumentError(path + ", line " + std::to_string(rows.size()) +
                                        ": not a CSV line with as many fields as the first");
    }
    begin = end + 1;
  }
  if (rows.empty()) return base::InvalidArgumentError(path + ": empty");
  HtmlTable table(rows.front());
  for (std::size_t r = 1; r < std::min(rows.size(), kShownRows + 1); ++r) {
    table.Row({rows[r].begin(), rows[r].end()});
  }
  std::string html = StrangersNote(rows, fingerprint) + table.Html();
  if (rows.size() > kShownRows + 1) {
    html +=
        HtmlParagraph("The first " + std::to_string(kShownRows) + " of " +
                      std::to_string(rows.size() - 1) + " lines of " + base::BaseName(path) + ".");
  }
  return html;
}

StatusOr<std::string> ResultsSection(const std::string& directory, const std::string& fingerprint) {
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<std::string> names, base::ListDirectory(directory));
  std::string html;
  for (const std::string& name : names) {
    if (!name.ends_with(".csv")) continue;
    const std::string stem = name.substr(0, name.size() - 4);
    html += HtmlHeading(stem);
    const std::string svg = base::JoinPath(directory, stem + ".svg");
    if (base::FileExists(svg)) {
      SUBMIX_ASSIGN_OR_RETURN(const std::string figure, base::ReadFile(svg));
      html += HtmlFigure(figure);
    }
    SUBMIX_ASSIGN_OR_RETURN(const std::string table,
                            CsvTable(base::JoinPath(directory, name), fingerprint));
    html += HtmlFolded("The numbers", table);
  }
  if (html.empty()) {
    return base::InvalidArgumentError(directory +
                                      ": holds no .csv of `submix reproduce`, `attack` or `audit`");
  }
  return html;
}

}  // namespace

StatusOr<std::string> DeploymentReport(const engine::Deployment& deployment,
                                       const std::vector<std::string>& directories) {
  std::string body =
      HtmlParagraph(
          "For the operator. What has been spent, and every figure, attack and audit "
          "below, was read outside the budget: showing it to clients, or acting on it, is "
          "a release of its own.") +
      PromiseSection(deployment) + DeclaredSection(deployment);
  SUBMIX_ASSIGN_OR_RETURN(const std::string spent, LedgerSection(deployment));
  body += spent;
  for (const std::string& directory : directories) {
    SUBMIX_ASSIGN_OR_RETURN(
        const std::string results,
        ResultsSection(directory, base::ToHex(deployment.ensemble.fingerprint())));
    body += results;
  }
  return HtmlPage("Privacy report", body + ProvenanceSection(deployment));
}

}  // namespace submix::eval
