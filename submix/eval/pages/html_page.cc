#include "submix/eval/pages/html_page.h"

#include <algorithm>
#include <cmath>

#include "submix/base/number_text.h"

namespace submix::eval {
namespace {

// Light and dark, on screens from 400 pixels on, and on paper, where what is folded is left out.
constexpr char kStyle[] =
    ":root{color-scheme:light dark;--ink:#1a1a1a;--paper:#fff;--faint:#555;--line:#ddd;"
    "--good:#00734f;--bad:#b3261e;--bar:#0072b2;--trough:#e6e9ee}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e8e6e3;--paper:#16181c;--faint:#a9adb5;"
    "--line:#3a3f47;--good:#4cc38a;--bad:#ff8a80;--bar:#56b4e9;--trough:#2a2e35}}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:var(--ink);background:var(--paper);overflow-wrap:break-word}"
    "h1{font-size:1.5rem;margin-bottom:.2rem}h2{font-size:1.15rem;margin-top:2rem}"
    "h3{font-size:1rem;margin:1rem 0 .2rem}p{margin:.4rem 0}ul{margin:.4rem 0;padding-left:1.2rem}"
    "table{border-collapse:collapse;font-size:.9rem}th,td{text-align:left;padding:.25rem .8rem "
    ".25rem 0;border-bottom:1px solid var(--line);vertical-align:top}td.number{text-align:right;"
    "font-variant-numeric:tabular-nums}.scroll{overflow-x:auto}"
    "svg{max-width:100%;height:auto;background:#fff}"
    ".lead{font-size:1.15rem;border-left:.3rem solid var(--bar);padding-left:.8rem}"
    ".note{color:var(--faint);font-size:.9rem}"
    ".good,.bad,.open{border-left:.3rem solid var(--line);padding-left:.8rem}"
    ".good{border-color:var(--good)}.bad{border-color:var(--bad);color:var(--bad)}"
    ".bar{height:.9rem;background:var(--trough);border-radius:.45rem;overflow:hidden}"
    ".bar span{display:block;height:100%;background:var(--bar)}"
    "dt{font-weight:600;margin-top:.6rem}dd{margin:0}details{margin:.6rem 0}"
    "@media print{@page{size:A4;margin:12mm}:root{--ink:#000;--paper:#fff;--faint:#333;"
    "--line:#bbb;--good:#00734f;--bad:#b3261e;--bar:#0072b2;--trough:#e6e9ee}"
    "html{font-size:8pt}body{font-size:1rem;line-height:1.3;margin:0;padding:0;max-width:none;"
    "print-color-adjust:exact;-webkit-print-color-adjust:exact}"
    "h2{margin-top:.7rem;margin-bottom:.2rem;break-after:avoid}h3{break-after:avoid;margin-top:"
    ".5rem}p,ul{margin:.2rem 0}details:not([open]){display:none}th,td{padding:.1rem .6rem .1rem 0}"
    "dl{columns:2;column-gap:1.2rem;margin:.3rem 0}dt{margin-top:.3rem;break-after:avoid}"
    "dd{break-before:avoid}tr,li{break-inside:avoid}}";

}  // namespace

std::string EscapedHtml(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string ShortNumber(double value) {
  return std::isfinite(value) ? base::NumberText(value, 5) : "–";
}

HtmlTable::HtmlTable(const std::vector<std::string>& headings) : rows_("\n<tr>") {
  for (const std::string& heading : headings) rows_ += "<th>" + EscapedHtml(heading) + "</th>";
}

void HtmlTable::Row(const std::vector<HtmlCell>& cells) {
  rows_ += "\n<tr>";
  for (const HtmlCell& cell : cells) rows_ += cell.html;
  is_empty_ = false;
}

std::string HtmlTable::Html() const {
  return "<div class=\"scroll\"><table>" + rows_ + "\n</table></div>\n";
}

std::string HtmlTable::HtmlUnder(const std::string& heading) const {
  return is_empty_ ? "" : HtmlHeading(heading) + Html();
}

std::string HtmlHeading(const std::string& text) { return "<h2>" + EscapedHtml(text) + "</h2>\n"; }

std::string HtmlParagraph(const std::string& text, const std::string& kind) {
  return (kind.empty() ? "<p>" : "<p class=\"" + kind + "\">") + EscapedHtml(text) + "</p>\n";
}

std::string HtmlList(const std::vector<std::string>& items) {
  std::string html = "<ul>\n";
  for (const std::string& item : items) html += "<li>" + EscapedHtml(item) + "\n";
  return html + "</ul>\n";
}

std::string HtmlBar(double share, const std::string& label) {
  const double percent = 100 * std::clamp(share, 0.0, 1.0);
  return "<div class=\"bar\" role=\"img\" aria-label=\"" + EscapedHtml(label) +
         "\"><span style=\"width:" + base::NumberText(percent, 4) + "%\"></span></div>\n";
}

std::string HtmlPromise(const accounting::Promise& promise) {
  std::vector<std::string> headings = {""};
  for (const std::string& column : promise.columns) headings.push_back("one " + column);
  HtmlTable table(headings);
  for (const accounting::PromiseRow& row : promise.rows) {
    std::vector<HtmlCell> cells = {row.label};
    cells.insert(cells.end(), row.cells.begin(), row.cells.end());
    table.Row(cells);
  }
  return HtmlParagraph(promise.sentence) + table.Html();
}

std::string HtmlFolded(const std::string& title, const std::string& body) {
  return "<details><summary>" + EscapedHtml(title) + "</summary>\n" + body + "</details>\n";
}

std::string HtmlFigure(const std::string& svg) {
  // The declaration of an XML file has no place inside a page.
  const std::size_t begin = svg.find("<svg");
  return begin == std::string::npos ? "" : svg.substr(begin);
}

std::string HtmlPage(const std::string& title, const std::string& body) {
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" +
         EscapedHtml(title) + "</title>\n<style>" + kStyle + "</style></head>\n<body>\n<h1>" +
         EscapedHtml(title) + "</h1>\n" + body + "</body></html>\n";
}

}  // namespace submix::eval
