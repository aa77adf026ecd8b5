#include "submix/eval/pages/report.h"

#include <algorithm>

#include "submix/accounting/fixed_nats.h"
#include "submix/base/digest.h"
#include "submix/base/number_text.h"
#include "submix/engine/deployment_statement.h"
#include "submix/engine/ledger_view.h"
#include "submix/eval/pages/four_digits.h"
#include "submix/eval/pages/guideline_points.h"
#include "submix/eval/pages/html_page.h"
#include "submix/eval/pages/measurement_verdicts.h"
#include "submix/eval/pages/result_tables.h"

namespace submix::eval {
namespace {

using base::StatusOr;

std::string DayOf(std::time_t time) { return base::UtcTime(time, "%-d %B %Y"); }

// --- The promise

// Its first sentence, then what restricts it.
std::string PromiseSection(const ReportedDeployment& reported) {
  const std::string sentence = engine::DeploymentPromise(reported.deployment).sentence;
  const std::size_t end = std::min(sentence.find(". "), sentence.size() - 1) + 1;
  std::string html = HtmlHeading("What is promised");
  if (!reported.deployment.mechanism->is_sound()) {
    html += HtmlParagraph("RESEARCH: what is said below is NOT proven for every data set.", "bad");
  }
  html += HtmlParagraph(sentence.substr(0, end), "lead");
  if (end < sentence.size()) html += HtmlParagraph(sentence.substr(end + 1));
  return html + HtmlParagraph(ReadAloud(reported.deployment));
}

// --- The budget

struct Budget {
  std::vector<ledger::Account> accounts;
  ledger::Ledger::Head head;
};

// The whole chain is checked.
StatusOr<Budget> ReadBudget(const engine::Deployment& deployment) {
  Budget budget;
  SUBMIX_RETURN_IF_ERROR(deployment.ledger->Verify());
  SUBMIX_ASSIGN_OR_RETURN(budget.accounts, deployment.ledger->Accounts());
  SUBMIX_ASSIGN_OR_RETURN(budget.head, deployment.ledger->head());
  return budget;
}

double ShareSpent(const ledger::Account& account) {
  return account.spent.ToNatsRoundedUp() / account.budget.ToNatsRoundedUp();
}

std::string BudgetSection(const engine::Deployment& deployment, const Budget& budget) {
  std::vector<ledger::Account> parts = budget.accounts;
  std::ranges::sort(parts, {}, ShareSpent);
  const ledger::Account& most = parts.back();
  const double share = ShareSpent(most);
  const std::string spent = accounting::FormatCost(most.spent.ToNatsRoundedUp()) + " of " +
                            FourDigits(most.budget.ToNatsRoundedUp()) + " nats (" +
                            PercentText(share) + ")";
  const std::string others = parts.size() == 1
                                 ? ""
                                 : "; half of the " + CountText(std::ssize(parts)) +
                                       " parts have spent at most " +
                                       PercentText(ShareSpent(parts[(parts.size() - 1) / 2]));
  const std::int64_t tokens =
      engine::SureTokens(most, deployment.config.options.mechanism.target_leakage);
  return HtmlHeading("What has been spent") + HtmlBar(share, spent + " spent") +
         HtmlParagraph("The part that has spent most has spent " + spent + others +
                       ". Every part can surely back " + CountText(tokens) +
                       " more tokens. The ledger's chain of " + CountText(budget.head.records) +
                       " records is whole, and its sums are the accounts'.");
}

// --- Attacks, audits, evaluations

// Of the page's style.
const char* ClassOf(VerdictTone tone) {
  return tone == VerdictTone::kHeld ? "good" : tone == VerdictTone::kBroken ? "bad" : "open";
}

std::string SentencesOf(const Measurement& measurement, const std::string& fingerprint) {
  const std::string when = " " + DayOf(measurement.measured) + ": " + measurement.title + ".";
  if (measurement.ensemble != fingerprint) {
    return HtmlParagraph(NoEvidence(measurement.ensemble) + when, "open");
  }
  std::string html;
  for (const Verdict& verdict : VerdictsOf(measurement)) {
    html += HtmlParagraph(verdict.sentence, ClassOf(verdict.tone));
  }
  return html + HtmlParagraph("Measured on" + when, "note");
}

bool IsBroken(const Measurement& measurement) {
  return std::ranges::any_of(VerdictsOf(measurement), [](const Verdict& verdict) {
    return verdict.tone == VerdictTone::kBroken;
  });
}

// The newest of a kind, and any other that went badly; the others folded. Empty: none of the kind.
std::string KindHtml(const MeasuredKind& kind, const std::vector<Measurement>& measurements,
                     const std::string& fingerprint) {
  std::string shown;
  std::string folded;
  for (const Measurement& measurement : measurements) {
    if (measurement.kind != kind.kind) continue;
    const bool is_shown = shown.empty() || IsBroken(measurement);
    (is_shown ? shown : folded) += SentencesOf(measurement, fingerprint);
  }
  if (shown.empty()) return "";
  return "<h3>" + EscapedHtml(std::string(kind.heading)) + "</h3>\n" + shown +
         (folded.empty() ? "" : HtmlFolded("Earlier", folded));
}

std::string MeasurementsSection(const std::vector<Measurement>& measurements,
                                const std::string& fingerprint) {
  std::string html = HtmlHeading("What attacks and audits found");
  std::string missing;
  for (const MeasuredKind& kind : MeasuredKinds()) {
    const std::string of_kind = KindHtml(kind, measurements, fingerprint);
    html += of_kind;
    if (of_kind.empty()) missing += (missing.empty() ? "" : ", ") + std::string(kind.kind);
  }
  if (!missing.empty()) {
    html += HtmlParagraph("Not run on this deployment: " + missing + ".", "open");
  }
  return html;
}

// --- What else

std::string NotCoveredSection(const engine::Deployment& deployment) {
  return HtmlHeading("What is not covered") + HtmlList(NotCovered(deployment));
}

// What stands between a pair of backticks is code.
std::string WithCode(const std::string& text) {
  std::string html = EscapedHtml(text);
  bool is_open = false;
  for (std::size_t at = html.find('`'); at != std::string::npos; at = html.find('`', at)) {
    html.replace(at, 1, is_open ? "</code>" : "<code>");
    is_open = !is_open;
  }
  return html + (is_open ? "</code>" : "");
}

std::string Term(const std::string& term, const std::string& description) {
  return "<dt>" + EscapedHtml(term) + "<dd>" + WithCode(description) + "\n";
}

std::string StatementsSection(const DeclaredStatements& declared) {
  std::string html = HtmlHeading("What the operator declares") + "<dl>\n";
  for (const DeclaredField& field : kDeclaredFields) {
    html += Term(std::string(field.heading), DeclaredOr(declared, field.key, kNotDeclared));
  }
  return html + "</dl>\n";
}

std::string GuidelinesSection(const ReportedDeployment& reported) {
  std::string html = HtmlHeading("The guidelines of NIST SP 800-226, point by point") + "<dl>\n";
  for (const GuidelinePoint& point : AnswerGuidelines(reported.deployment, reported.declared)) {
    html +=
        Term(std::string(point.title) + ": " + std::string(ToString(point.status)), point.answer);
  }
  HtmlTable table({"If two data sets differ so", "known as", "is the difference hidden?"});
  for (const NeighbourVariant& variant : NeighbourVariants(reported.deployment)) {
    table.Row({std::string(variant.difference), std::string(variant.known_as), variant.answer});
  }
  return html + "</dl>\n" + table.Html();
}

// --- Folded: for those who check

std::string PromiseTable(const engine::Deployment& deployment) {
  return HtmlFolded("The whole promise", HtmlPromise(engine::DeploymentPromise(deployment)));
}

std::string DeclarationTable(const engine::Deployment& deployment) {
  const engine::DeploymentOptions& options = deployment.config.options;
  HtmlTable table({"declared once, before the first token", "value"});
  table.Row({"mechanism", options.mechanism.name});
  table.Row({"parts", std::to_string(deployment.ensemble.manifest().num_parts)});
  table.Row({"members a part", std::to_string(deployment.ensemble.manifest().halves)});
  table.Row({"order", options.mechanism.order.ToString()});
  table.Row({"budget of each part, nats", FourDigits(options.epsilon)});
  table.Row(
      {"most that one token costs a part, nats", FourDigits(options.mechanism.target_leakage)});
  table.Row({"when a fixed number of tokens is used up",
             options.when_exhausted == engine::WhenExhausted::kRefuse
                 ? "clients are refused"
                 : "the public model answers"});
  return HtmlFolded("The declaration", table.Html());
}

std::string PartsTable(const Budget& budget) {
  HtmlTable table({"part", "spent, nats", "budget, nats", "share"});
  for (const ledger::Account& account : budget.accounts) {
    table.Row({account.name,
               HtmlCell::Number(accounting::FormatCost(account.spent.ToNatsRoundedUp())),
               HtmlCell::Number(FourDigits(account.budget.ToNatsRoundedUp())),
               HtmlCell::Number(PercentText(ShareSpent(account)))});
  }
  return HtmlFolded(
      "Every part's account",
      table.Html() + HtmlParagraph("Head of the ledger: " + base::ToHex(budget.head.hash)));
}

std::string ProvenanceTable(const engine::Deployment& deployment) {
  const ensemble::Manifest& manifest = deployment.ensemble.manifest();
  HtmlTable table({"of the members", "value"});
  for (const auto& [name, value] : manifest.hyper_parameters) table.Row({name, value});
  table.Row({"generation", std::to_string(manifest.generation)});
  table.Row({"users forgotten", std::to_string(manifest.forgotten.size())});
  table.Row({"fingerprint of public model and members",
             base::ToHex(deployment.config.ensemble_fingerprint)});
  table.Row({"ledger", deployment.config.lineage});
  return HtmlFolded("Where it comes from", table.Html());
}

}  // namespace

StatusOr<std::string> DeploymentReport(const ReportedDeployment& reported,
                                       const std::vector<Measurement>& measurements,
                                       const std::vector<std::string>& directories) {
  const engine::Deployment& deployment = reported.deployment;
  const std::string fingerprint = base::ToHex(deployment.ensemble.fingerprint());
  SUBMIX_ASSIGN_OR_RETURN(const Budget budget, ReadBudget(deployment));
  std::string body =
      HtmlParagraph(DayOf(reported.date) +
                        ". For the operator and the privacy officer: what was spent, and what "
                        "attacks and audits found, was read outside the budget; showing it to "
                        "clients, or acting on it, is a release of its own.",
                    "note") +
      PromiseSection(reported) + BudgetSection(deployment, budget) +
      MeasurementsSection(measurements, fingerprint) + NotCoveredSection(deployment) +
      StatementsSection(reported.declared) + GuidelinesSection(reported) +
      PromiseTable(deployment) + DeclarationTable(deployment) + PartsTable(budget) +
      ProvenanceTable(deployment);
  for (const std::string& directory : directories) {
    SUBMIX_ASSIGN_OR_RETURN(const std::string results, ResultsHtml(directory, fingerprint));
    body += results;
  }
  return HtmlPage("Privacy report: " + reported.name, body);
}

}  // namespace submix::eval
