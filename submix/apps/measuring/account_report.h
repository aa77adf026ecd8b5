// What `submix account`, `attack` and `audit` print: rows of numbers, and what must be said with
// them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/accounting/privacy_statement.h"
#include "submix/base/status.h"
#include "submix/divergence/renyi_order.h"

namespace submix::apps {

// Columns of numbers, and what must be said with each.
using LabelledColumns = std::vector<std::pair<std::string, accounting::PrivacyStatement>>;

struct AccountReport {
  std::string title;  // one line, for people
  // Objects with the same keys, in the order of the columns. Infinite numbers become null,
  // which people see as "-".
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  LabelledColumns statements;
  std::vector<std::string> notes;  // one paragraph each, for people
};

// The order as JSON: a number, or "inf".
nlohmann::ordered_json OrderJson(divergence::RenyiOrder order);

// A table, or one JSON object {"rows": […], "statements": {column: text}}. For people costs (keys
// that end in "epsilon" or "rdp") have four digits, rounded up.
void PrintReport(const AccountReport& report, bool json);

// For people: unit, neighbours, scope and proof of each column, as a small table.
void PrintLabels(const LabelledColumns& columns);

// The rows, a line each, under the names of the columns. Errors: those of writing. Requires: at
// least one row.
base::Status WriteReportCsv(const AccountReport& report, const std::string& path);

}  // namespace submix::apps
