// What commands print of what they found: rows of numbers, and what must be said with them, as a
// table for people, as JSON, and as a CSV file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/accounting/privacy_statement.h"
#include "submix/divergence/renyi_order.h"

namespace submix::apps {

// Columns of numbers, and what must be said with each.
using LabelledColumns = std::vector<std::pair<std::string, accounting::PrivacyStatement>>;

struct CommandReport {
  std::string title;  // for people
  // Objects with the same keys, in the order of the columns. Infinite numbers become null,
  // which people see as "-".
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  LabelledColumns statements;
  std::vector<std::string> notes;  // one paragraph each, for people
};

// The order as JSON: a number, or "inf".
nlohmann::ordered_json OrderJson(divergence::RenyiOrder order);

// The report as PrintReport prints it, lines that end.
std::string ReportText(const CommandReport& report);
std::string ReportJson(const CommandReport& report);

// For people, at most base::kTerminalWidth wide; or one JSON object {"rows": […], "statements":
// {column: text}}.
void PrintReport(const CommandReport& report, bool json);

// The table alone. Costs (keys that end in "epsilon" or "rdp") have four digits, rounded up.
// Requires, as what follows: at least one row.
std::string TableText(const nlohmann::ordered_json& rows);
// The rows under the names of the columns; null becomes an empty field.
std::string TableCsv(const nlohmann::ordered_json& rows);

// For people: unit, neighbours, scope and proof of each column, as a small table.
std::string LabelsText(const LabelledColumns& columns);

// A paragraph for people.
std::string Paragraph(const std::string& text);

}  // namespace submix::apps
