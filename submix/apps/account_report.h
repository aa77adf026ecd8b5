// What `submix account` prints: rows of numbers, and what each column of epsilons means.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/accounting/privacy_statement.h"
#include "submix/divergence/renyi_order.h"

namespace submix::apps {

struct AccountReport {
  std::string title;  // one line, for people
  // Objects with the same keys, in the order of the columns. Infinite numbers become null.
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  // A column, and what must be said with its numbers.
  std::vector<std::pair<std::string, accounting::PrivacyStatement>> statements;
  std::vector<std::string> notes;  // one line each, for people
};

// A worst-case statement with this proof.
accounting::PrivacyStatement ProvenStatement(accounting::PrivacyUnit unit,
                                             accounting::Adjacency adjacency, const char* proof);

// The order as JSON: a number, or "inf".
nlohmann::ordered_json OrderJson(divergence::RenyiOrder order);

// A table, or one JSON object {"rows": […], "statements": {column: text}}. For people costs (keys
// that end in "epsilon" or "rdp") have four digits, rounded up.
void PrintReport(const AccountReport& report, bool json);

}  // namespace submix::apps
