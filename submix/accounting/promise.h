// A privacy statement as people read it: what one user is promised, in a sentence, then a small
// table of what must be said with every number. Terminal, page and report draw the same rows.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "submix/accounting/privacy_statement.h"

namespace submix::accounting {

struct PromiseRow {
  std::string label;               // "(epsilon, delta)", "unit", "proof", …
  std::vector<std::string> cells;  // one a column; "-" where there is nothing to say
};

// Plain value; no number without its unit, adjacency, order, scope and proof status.
struct Promise {
  std::string sentence;
  std::vector<std::string> columns;  // whom each protects: "user", "part"; read "one user"
  std::vector<PromiseRow> rows;

  // For terminals: the sentence, an empty line, the table; at most base::kTerminalWidth wide.
  std::vector<std::string> Lines() const;
  // The lines, each ended by a newline.
  std::string ToText() const;
};

// What follows for one user first. Where nothing does, the sentence says so, and why.
Promise PromiseOf(const PrivacyStatement& statement);

// One column of a promise.
struct PromiseLevel {
  std::string column;
  PrivacyStatement statement;
  std::string nothing_because = {};  // not empty: nothing is promised at this level, and why
};

// {"sentence": …, "table": [{"label": …, "user": …, "part": …}, …]}, the columns by their names.
// `Json` is one of nlohmann's, which this room does not know.
template <typename Json>
Json PromiseJson(const Promise& promise) {
  Json table = Json::array();
  for (const PromiseRow& row : promise.rows) {
    Json& object = table.emplace_back(Json::object());
    object["label"] = row.label;
    for (std::size_t c = 0; c < row.cells.size(); ++c) object[promise.columns[c]] = row.cells[c];
  }
  Json json = Json::object();
  json["sentence"] = promise.sentence;
  json["table"] = std::move(table);
  return json;
}

// Requires: at least one level.
Promise MakePromise(std::string sentence, const std::vector<PromiseLevel>& levels);

// "Whatever anybody asks, all answers together are (7.804, 1e-06)-differentially private for one
// user's text.", and its weakness. Requires: the statement is proven for every data set.
std::string PromiseSentence(const PrivacyStatement& statement);
// Its middle, "(7.804, 1e-06)-differentially private"; the divergence where no (epsilon, delta)
// follows.
std::string PrivateTo(const PrivacyStatement& statement);

// An epsilon for one user above this excludes hardly anything.
inline constexpr double kWeakEpsilon = 10;

// "That is weak: an epsilon above 10 excludes hardly anything.", after a space; nothing up to 10,
// and where no epsilon follows.
std::string WeaknessOf(const PrivacyStatement& statement);

// What to tell the operator of a delta that is above a tenth of 1 / users, in a line: the promise
// holds up to an event of that probability, such as giving a user away. Empty: nothing to say.
// Requires: users > 0.
std::string DeltaCaution(double delta, double users);

// Rows of one column that hold no number: unit, neighbours, for which data sets, proof.
std::vector<PromiseRow> LabelRows(const PrivacyStatement& statement);

}  // namespace submix::accounting
