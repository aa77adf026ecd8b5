#include "submix/eval/experiment_page.h"

#include <cmath>
#include <cstdio>

namespace submix::eval {
namespace {

constexpr char kStyle[] =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#1a1a1a;background:#fff}h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}"
    "table{border-collapse:collapse;font-size:.9rem}th,td{text-align:left;padding:.25rem .8rem "
    ".25rem 0;border-bottom:1px solid #ddd;vertical-align:top}td.number{text-align:right;"
    "font-variant-numeric:tabular-nums}.scroll{overflow-x:auto}svg{max-width:100%;height:auto}"
    ".note{color:#555}";

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string Short(double value) {
  if (!std::isfinite(value)) return "–";
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value);
  return text;
}

// The standard deviation of one run; NaN for a lone one.
double Deviation(const std::vector<double>& runs) {
  const auto n = static_cast<double>(runs.size());
  double mean = 0;
  for (const double run : runs) mean += run / n;
  double squares = 0;
  for (const double run : runs) squares += (run - mean) * (run - mean);
  return std::sqrt(squares / (n - 1));
}

std::string Cell(const std::string& text) { return "<td>" + Escaped(text) + "</td>"; }
std::string Cell(double value) { return "<td class=\"number\">" + Short(value) + "</td>"; }

std::string Heading(const std::vector<const char*>& names) {
  std::string row = "<div class=\"scroll\"><table><tr>";
  for (const char* name : names) row += "<th>" + std::string(name) + "</th>";
  return row + "</tr>\n";
}

constexpr char kTableEnd[] = "</table></div>\n";

std::string PaperTable(const Experiment& experiment, const ExperimentResult& result) {
  if (experiment.paper.empty()) return "";
  std::string html =
      "<h2>The paper's numbers beside ours</h2>\n" + Heading({"what", "paper", "ours"});
  for (const PaperNumber& number : experiment.paper) {
    const auto ours = OursFor(number, result);
    html += "<tr>" + Cell(number.what) + Cell(number.value) +
            (ours ? Cell(*ours) : Cell(std::string("not measured here"))) + "</tr>\n";
  }
  return html + kTableEnd;
}

std::string LevelTable(const ExperimentResult& result) {
  std::string html =
      "<h2>Without a mechanism</h2>\n" + Heading({"model", "perplexity", "mean over blocks"});
  for (const auto& [name, perplexity] : LevelsOf(result.levels)) {
    html +=
        "<tr>" + Cell(name) + Cell(perplexity.corpus()) + Cell(perplexity.block_mean()) + "</tr>\n";
  }
  return html + kTableEnd;
}

std::string RowTable(const ExperimentResult& result) {
  std::string html =
      "<h2>Every point</h2>\n" +
      Heading({"curve", "order", "epsilon", "answers", "runs", "perplexity", "spread over runs",
               "mean over blocks", "spent at most", "kept", "what is promised"});
  for (const ExperimentRow& row : result.rows) {
    const EvaluationSetting& setting = row.result.setting;
    const KeptShare kept =
        Kept(row.baselines.public_model, row.result.perplexity, row.baselines.fine_tuned.front());
    html += "<tr>" + Cell(row.curve) + Cell(setting.mechanism.order.ToString()) +
            Cell(setting.epsilon) + Cell(static_cast<double>(setting.queries)) +
            Cell(static_cast<double>(row.result.perplexity.runs.size())) +
            Cell(row.result.perplexity.corpus()) + Cell(Deviation(row.result.perplexity.runs)) +
            Cell(row.result.perplexity.block_mean()) + Cell(row.result.epsilon_spent_max) +
            Cell(kept.value) + Cell(row.guarantee) + "</tr>\n";
  }
  return html + kTableEnd;
}

std::string ProvenanceTable(const Provenance& provenance) {
  std::string html = "<h2>How it was made</h2>\n" + Heading({"", ""});
  for (const auto& [name, value] : provenance) {
    html += "<tr>" + Cell(name) + Cell(value) + "</tr>\n";
  }
  return html + kTableEnd;
}

}  // namespace

std::string ExperimentPage(const Experiment& experiment, const ExperimentResult& result,
                           const std::string& svg, const Provenance& provenance) {
  std::string html =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" +
      Escaped(experiment.title) + "</title>\n<style>" + kStyle + "</style></head>\n<body>\n<h1>" +
      Escaped(experiment.title) + "</h1>\n";
  // gnuplot's declaration of an XML file has no place inside a page.
  if (const std::size_t begin = svg.find("<svg"); begin != std::string::npos) {
    html += svg.substr(begin);
  }
  html += "<p>" + Escaped(experiment.reading) + "</p>\n";
  html +=
      "<p class=\"note\">The operator's view, outside every budget: publishing these numbers, or "
      "choosing options by them, is a release of its own. “Kept” is the share of what "
      "non-private fine-tuning gains, in perplexity.</p>\n";
  html += PaperTable(experiment, result) + LevelTable(result) + RowTable(result) +
          ProvenanceTable(provenance);
  return html + "</body></html>\n";
}

}  // namespace submix::eval
