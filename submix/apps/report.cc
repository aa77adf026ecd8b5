#include "submix/apps/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "submix/accounting/promise.h"
#include "submix/base/csv.h"
#include "submix/base/number_text.h"
#include "submix/base/text_table.h"

namespace submix::apps {
namespace {

using Json = nlohmann::ordered_json;

// More statements side by side have too little room each.
constexpr std::size_t kLabelsAbreast = 2;

std::string CellText(const std::string& key, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "-";
  if (value.is_array()) {
    std::string text;
    for (const Json& element : value) text += (text.empty() ? "" : " ") + CellText(key, element);
    return text;
  }
  if (!value.is_number_float()) return value.dump();
  if (!std::isfinite(value.get<double>())) return "-";
  if (key == "largest_rdp") return accounting::FormatAllowance(value.get<double>());
  if (key.ends_with("epsilon") || key.ends_with("rdp")) {
    return accounting::FormatCost(value.get<double>());
  }
  return base::NumberText(value.get<double>());
}

std::string CsvCell(const Json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string HeaderText(std::string key) {
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

}  // namespace

Json OrderJson(divergence::RenyiOrder order) {
  return order.is_infinite() ? Json("inf") : Json(order.value());
}

std::string ReportText(const CommandReport& report) {
  std::string text = Paragraph(report.title) + '\n' + TableText(report.rows) + '\n';
  text += LabelsText(report.statements);
  if (!report.statements.empty() && !report.notes.empty()) text += '\n';
  for (const std::string& note : report.notes) text += Paragraph(note);
  return text;
}

std::string ReportJson(const CommandReport& report) {
  Json object = {{"rows", report.rows}, {"statements", Json::object()}};
  for (const auto& [column, statement] : report.statements) {
    object["statements"][column] = statement.Labels();
  }
  return object.dump() + '\n';
}

void PrintReport(const CommandReport& report, bool json) {
  std::printf("%s", (json ? ReportJson(report) : ReportText(report)).c_str());
}

std::string TableText(const Json& rows) {
  std::vector<std::vector<std::string>> table(1);
  for (const auto& [key, value] : rows.front().items()) table.front().push_back(HeaderText(key));
  for (const Json& row : rows) {
    std::vector<std::string>& cells = table.emplace_back();
    for (const auto& [key, value] : row.items()) cells.push_back(CellText(key, value));
  }
  return Joined(base::NumberLines(table));
}

std::string TableCsv(const Json& rows) {
  std::vector<std::string> cells;
  for (const auto& [key, value] : rows.front().items()) cells.push_back(key);
  std::string csv = base::CsvRow(cells);
  for (const Json& row : rows) {
    cells.clear();
    for (const Json& value : row) cells.push_back(CsvCell(value));
    csv += base::CsvRow(cells);
  }
  return csv;
}

std::string LabelsText(const LabelledColumns& columns) {
  std::string text;
  for (std::size_t first = 0; first < columns.size(); first += kLabelsAbreast) {
    std::vector<std::vector<std::string>> table = {{""}};
    const std::size_t end = std::min(first + kLabelsAbreast, columns.size());
    for (std::size_t c = first; c < end; ++c) {
      const auto& [name, statement] = columns[c];
      table.front().push_back(HeaderText(name));
      const std::vector<accounting::PromiseRow> rows = accounting::LabelRows(statement);
      table.resize(rows.size() + 1);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        if (c == first) table[r + 1].push_back(rows[r].label);
        table[r + 1].push_back(rows[r].cells.front());
      }
    }
    if (first > 0) text += '\n';
    text += Joined(base::TableLines(table));
  }
  return text;
}

std::string Paragraph(const std::string& text) { return Joined(base::WrappedLines(text)); }

}  // namespace submix::apps
