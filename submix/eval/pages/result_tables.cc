#include "submix/eval/pages/result_tables.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "submix/base/file_system.h"
#include "submix/eval/pages/four_digits.h"
#include "submix/eval/pages/html_page.h"

namespace submix::eval {
namespace {

using base::StatusOr;

// A longer table is for machines; its first lines are shown.
constexpr std::size_t kShownRows = 60;

using Fields = std::vector<std::string>;

// The fields of one line, quotes undone. Empty if a quote is left open.
Fields CsvFields(std::string_view line) {
  Fields fields(1);
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

StatusOr<std::vector<Fields>> ReadCsv(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string content, base::ReadFile(path));
  std::vector<Fields> rows;
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
  return rows;
}

// What each row says in this column, once each; none without the column.
Fields ValuesOf(const std::vector<Fields>& rows, std::string_view name) {
  Fields values;
  const auto column = std::ranges::find(rows.front(), name) - rows.front().begin();
  if (column == std::ssize(rows.front())) return values;
  for (std::size_t r = 1; r < rows.size(); ++r) {
    const std::string& value = rows[r][static_cast<std::size_t>(column)];
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
  }
  return values;
}

// Numbers with a point or an exponent have four digits; whole ones are counts or names.
HtmlCell CellOf(const std::string& field) {
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (field.empty() || error != std::errc() || end != field.data() + field.size()) return field;
  return HtmlCell::Number(std::isfinite(value) && value != std::floor(value) ? FourDigits(value)
                                                                             : field);
}

std::string TableOf(const std::vector<Fields>& rows) {
  Fields headings;
  std::vector<std::size_t> columns;
  for (std::size_t c = 0; c < rows.front().size(); ++c) {
    if (rows.front()[c] == kEnsembleColumn || rows.front()[c] == kPromiseColumn) continue;
    columns.push_back(c);
    std::string& heading = headings.emplace_back(rows.front()[c]);
    std::ranges::replace(heading, '_', ' ');
  }
  HtmlTable table(headings);
  for (std::size_t r = 1; r < std::min(rows.size(), kShownRows + 1); ++r) {
    std::vector<HtmlCell> cells;
    for (const std::size_t c : columns) cells.push_back(CellOf(rows[r][c]));
    table.Row(cells);
  }
  return table.Html();
}

StatusOr<std::string> CsvHtml(const std::string& path, const std::string& fingerprint) {
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<Fields> rows, ReadCsv(path));
  std::string html;
  for (const std::string& ensemble : ValuesOf(rows, kEnsembleColumn)) {
    if (ensemble == fingerprint) continue;
    html += HtmlParagraph(NoEvidence(ensemble));
    break;
  }
  for (const std::string& promise : ValuesOf(rows, kPromiseColumn)) html += HtmlParagraph(promise);
  html += TableOf(rows);
  if (rows.size() > kShownRows + 1) {
    html +=
        HtmlParagraph("The first " + std::to_string(kShownRows) + " of " +
                      std::to_string(rows.size() - 1) + " lines of " + base::BaseName(path) + ".");
  }
  return html;
}

// "extraction by model" from "extraction-by_model".
std::string HeadingOf(std::string stem) {
  std::ranges::replace(stem, '_', ' ');
  std::ranges::replace(stem, '-', ' ');
  return stem;
}

}  // namespace

StatusOr<std::string> ResultsHtml(const std::string& directory, const std::string& fingerprint) {
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<std::string> names, base::ListDirectory(directory));
  std::string html;
  for (const std::string& name : names) {
    if (!name.ends_with(".csv")) continue;
    const std::string stem = name.substr(0, name.size() - 4);
    std::string body;
    const std::string svg = base::JoinPath(directory, stem + ".svg");
    if (base::FileExists(svg)) {
      SUBMIX_ASSIGN_OR_RETURN(const std::string figure, base::ReadFile(svg));
      body += HtmlFigure(figure);
    }
    SUBMIX_ASSIGN_OR_RETURN(const std::string table,
                            CsvHtml(base::JoinPath(directory, name), fingerprint));
    html += HtmlFolded(
        "Numbers of " + base::BaseName(base::CanonicalPath(directory)) + ": " + HeadingOf(stem),
        body + table);
  }
  if (html.empty()) {
    return base::InvalidArgumentError(directory +
                                      ": holds no .csv of `submix reproduce`, `attack` or `audit`");
  }
  return html;
}

std::string NoEvidence(const std::string& fingerprint) {
  return "NO EVIDENCE ABOUT THIS DEPLOYMENT: measured on the ensemble with fingerprint " +
         fingerprint + ".";
}

}  // namespace submix::eval
