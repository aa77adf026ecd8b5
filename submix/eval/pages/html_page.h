// Self-contained HTML pages of text, tables and figures; everything a reader needs is in the file.
#pragma once

#include <string>
#include <vector>

#include "submix/accounting/promise.h"

namespace submix::eval {

std::string EscapedHtml(const std::string& text);

// Five digits; a dash for what is not finite.
std::string ShortNumber(double value);

// Rows of cells, numbers set to the right.
class HtmlTable {
 public:
  explicit HtmlTable(const std::vector<std::string>& headings);

  HtmlTable& Row();
  HtmlTable& Cell(const std::string& text);
  HtmlTable& Cell(double value);
  std::string Html() const;

 private:
  std::string rows_;
};

// "<h2>…</h2>".
std::string HtmlHeading(const std::string& text);
std::string HtmlParagraph(const std::string& text);
// The sentence, then the table.
std::string HtmlPromise(const accounting::Promise& promise);
// Shown when the reader opens it. `body` is HTML.
std::string HtmlFolded(const std::string& title, const std::string& body);
// An SVG file as an element of a page; nothing for an empty one.
std::string HtmlFigure(const std::string& svg);

// The whole page. `body` is HTML.
std::string HtmlPage(const std::string& title, const std::string& body);

}  // namespace submix::eval
