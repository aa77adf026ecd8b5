#include "submix/apps/measuring/account_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "submix/accounting/promise.h"
#include "submix/base/file_system.h"
#include "submix/base/number_text.h"
#include "submix/base/text_table.h"

namespace submix::apps {
namespace {

using Json = nlohmann::ordered_json;

// More statements side by side have too little room each.
constexpr std::size_t kLabelsAbreast = 3;

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

std::string HeaderText(std::string key) {
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

void PrintTable(const Json& rows) {
  std::vector<std::size_t> widths;
  for (const auto& [key, value] : rows.front().items()) {
    std::size_t width = key.size();
    for (const Json& row : rows) width = std::max(width, CellText(key, row.at(key)).size());
    widths.push_back(width);
  }
  std::size_t column = 0;
  for (const auto& [key, value] : rows.front().items()) {
    std::printf("  %*s", static_cast<int>(widths[column++]), HeaderText(key).c_str());
  }
  std::printf("\n");
  for (const Json& row : rows) {
    column = 0;
    for (const auto& [key, value] : row.items()) {
      std::printf("  %*s", static_cast<int>(widths[column++]), CellText(key, value).c_str());
    }
    std::printf("\n");
  }
}

void PrintLines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::printf("%s\n", line.c_str());
}

// Text with what CSV would misread goes into quotes.
std::string CsvCell(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  std::string text = value.get<std::string>();
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) {
    text.insert(at, 1, '"');
  }
  return '"' + text + '"';
}

}  // namespace

Json OrderJson(divergence::RenyiOrder order) {
  return order.is_infinite() ? Json("inf") : Json(order.value());
}

void PrintReport(const AccountReport& report, bool json) {
  if (json) {
    Json object = {{"rows", report.rows}, {"statements", Json::object()}};
    for (const auto& [column, statement] : report.statements) {
      object["statements"][column] = statement.Labels();
    }
    std::printf("%s\n", object.dump().c_str());
    return;
  }
  std::printf("%s\n\n", report.title.c_str());
  PrintTable(report.rows);
  std::printf("\n");
  PrintLabels(report.statements);
  if (!report.statements.empty() && !report.notes.empty()) std::printf("\n");
  for (const std::string& note : report.notes) PrintLines(base::WrappedLines(note));
}

void PrintLabels(const LabelledColumns& columns) {
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
    if (first > 0) std::printf("\n");
    PrintLines(base::TableLines(table));
  }
}

base::Status WriteReportCsv(const AccountReport& report, const std::string& path) {
  std::string csv;
  for (const auto& [key, value] : report.rows.front().items())
    csv += (csv.empty() ? "" : ",") + key;
  for (const Json& row : report.rows) {
    csv += '\n';
    bool is_first = true;
    for (const auto& [key, value] : row.items()) {
      if (!is_first) csv += ',';
      csv += CsvCell(value);
      is_first = false;
    }
  }
  return base::WriteFile(path, csv + '\n');
}

}  // namespace submix::apps
