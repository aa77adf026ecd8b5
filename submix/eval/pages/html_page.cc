#include "submix/eval/pages/html_page.h"

#include <cmath>

#include "submix/base/number_text.h"

namespace submix::eval {
namespace {

constexpr char kStyle[] =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#1a1a1a;background:#fff}h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}"
    "table{border-collapse:collapse;font-size:.9rem}th,td{text-align:left;padding:.25rem .8rem "
    ".25rem 0;border-bottom:1px solid #ddd;vertical-align:top}td.number{text-align:right;"
    "font-variant-numeric:tabular-nums}.scroll{overflow-x:auto}svg{max-width:100%;height:auto}"
    ".note{color:#555}";

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

std::string HtmlParagraph(const std::string& text) { return "<p>" + EscapedHtml(text) + "</p>\n"; }

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
