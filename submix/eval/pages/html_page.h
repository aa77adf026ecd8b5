// Self-contained HTML pages of text, tables and figures; everything a reader needs is in the file.
#pragma once

#include <string>
#include <vector>

#include "submix/accounting/promise.h"

namespace submix::eval {

std::string EscapedHtml(const std::string& text);

// Five digits; a dash for what is not finite.
std::string ShortNumber(double value);

// A text, or a number, which is set to the right.
struct HtmlCell {
  HtmlCell(std::string text) : html("<td>" + EscapedHtml(text) + "</td>") {}
  HtmlCell(const char* text) : HtmlCell(std::string(text)) {}
  HtmlCell(double number) : HtmlCell(Number(ShortNumber(number))) {}
  // A number as it is to be read.
  static HtmlCell Number(const std::string& text) {
    HtmlCell cell("");
    cell.html = "<td class=\"number\">" + EscapedHtml(text) + "</td>";
    return cell;
  }

  std::string html;
};

class HtmlTable {
 public:
  explicit HtmlTable(const std::vector<std::string>& headings);

  void Row(const std::vector<HtmlCell>& cells);
  std::string Html() const;
  // Nothing for a table without rows.
  std::string HtmlUnder(const std::string& heading) const;

 private:
  std::string rows_;
  bool is_empty_ = true;
};

// "<h2>…</h2>".
std::string HtmlHeading(const std::string& text);
// `kind` is a class of the page's style, or empty: "lead", "note", "good", "bad", "open".
std::string HtmlParagraph(const std::string& text, const std::string& kind = "");
std::string HtmlList(const std::vector<std::string>& items);
// A bar that is full where `share` is 1; `label` says so in words.
std::string HtmlBar(double share, const std::string& label);
// The sentence, then the table.
std::string HtmlPromise(const accounting::Promise& promise);
// Shown when the reader opens it. `body` is HTML.
std::string HtmlFolded(const std::string& title, const std::string& body);
// An SVG file as an element of a page; nothing for an empty one.
std::string HtmlFigure(const std::string& svg);

// The whole page. `body` is HTML.
std::string HtmlPage(const std::string& title, const std::string& body);

}  // namespace submix::eval
