#include "submix/accounting/promise.h"

#include "submix/accounting/rdp_conversion.h"
#include "submix/base/check.h"
#include "submix/base/number_text.h"
#include "submix/base/text_table.h"

namespace submix::accounting {
namespace {

constexpr const char* kNothing = "-";

std::string Conversion(const PrivacyStatement& statement) {
  const std::vector<RdpBound> bounds = StatedBounds(statement);
  const auto best = BestEpsilon(bounds, statement.delta, ConversionKind::kImproved);
  if (!best.ok()) return "none: needs an order of at least 1.01 and a delta in (0, 1)";
  return "(" + FormatCost(best->epsilon) + ", " + base::NumberText(statement.delta) +
         (bounds.size() == 1 ? "), from order " : "), from best order ") + FormatOrder(best->order);
}

std::string Divergence(const PrivacyStatement& statement) {
  return FormatCost(statement.epsilon.ToNatsRoundedUp()) + " nats at order " +
         FormatOrder(statement.order) + ", both ways";
}

std::string Unit(const PrivacyStatement& statement) {
  switch (statement.unit) {
    case PrivacyUnit::kPart:
      return "all text of the users in one part";
    case PrivacyUnit::kUserKey:
      return "all text of one user key";
    case PrivacyUnit::kTrainingExample:
      return "one training example, such as a document";
  }
  return "";
}

std::string Neighbours(const PrivacyStatement& statement) {
  return AdjacencyWords(statement.adjacency);
}

std::string CountedOver(const PrivacyStatement& statement) {
  switch (statement.released) {
    case Released::kAnswers:
      return "all answers together";
    case Released::kModel:
      return "the whole training";
    case Released::kAnswersAndPublicModel:
      return "all answers and the public model";
  }
  return "";
}

std::string HoldsFor(const PrivacyStatement& statement) {
  if (!statement.epsilon.is_payable() && !statement.proven) return "no data set";
  if (!statement.worst_case) return "this data only, and private itself";
  return statement.proven ? "every data set" : "every data set, as its authors claim";
}

std::string Proof(const PrivacyStatement& statement) {
  return (statement.proven ? "proven: " : "NOT proven: ") + statement.proof;
}

std::string Mechanism(const PrivacyStatement& statement) { return statement.mechanism; }

struct RowKind {
  const char* label;
  std::string (*cell)(const PrivacyStatement&);
  bool is_label;             // says what a number means
  bool is_there_regardless;  // also where nothing is promised
};
// The first says why where nothing is promised.
constexpr RowKind kRows[] = {{"(epsilon, delta)", Conversion, false, false},
                             {"Renyi divergence", Divergence, false, false},
                             {"unit", Unit, true, true},
                             {"neighbours", Neighbours, true, false},
                             {"counted over", CountedOver, false, false},
                             {"holds for", HoldsFor, true, false},
                             {"proof", Proof, true, false},
                             {"mechanism", Mechanism, false, true}};

std::string Opening(Released released) {
  switch (released) {
    case Released::kAnswers:
      return "Whatever anybody asks, all answers together are ";
    case Released::kModel:
      return "Whatever is done with the model, it is ";
    case Released::kAnswersAndPublicModel:
      return "Whatever anybody asks, all answers and the public model together are ";
  }
  return "";
}

// Why a statement that is no promise to users is none.
std::string NoPromise(const PrivacyStatement& statement) {
  if (!statement.epsilon.is_payable()) {
    return "Nothing is promised to anybody: the answers are not private.";
  }
  const std::string who = statement.unit == PrivacyUnit::kPart
                              ? "Nothing is proven for one user's text: what the table "
                                "says of one part "
                              : "Nothing is proven: what the table says ";
  if (!statement.worst_case) return who + "is research, and holds for this data only.";
  return who + "is its authors' claim, not proven.";
}

Promise OfPart(const PrivacyStatement& part) {
  if (const auto user = UserLevelStatement(part)) {
    return MakePromise(PromiseSentence(*user), {{"user", *user}, {"part", part}});
  }
  PrivacyStatement user = part;
  user.unit = PrivacyUnit::kUserKey;
  const bool is_proven = part.worst_case && part.proven;
  const std::string why =
      is_proven ? "nothing follows from orders of 1 and below"
                : "nothing follows: that needs a bound for parts, proven for every data set";
  const std::string sentence =
      is_proven ? "Nothing is promised to one user: " + why + "." : NoPromise(part);
  return MakePromise(sentence, {{"user", user, why}, {"part", part}});
}

}  // namespace

std::string PrivateTo(const PrivacyStatement& statement) {
  const auto best =
      BestEpsilon(StatedBounds(statement), statement.delta, ConversionKind::kImproved);
  if (!best.ok()) {
    return "private up to " + FormatCost(statement.epsilon.ToNatsRoundedUp()) +
           " nats of Renyi divergence at order " + FormatOrder(statement.order);
  }
  return "(" + FormatCost(best->epsilon) + ", " + base::NumberText(statement.delta) +
         ")-differentially private";
}

std::string PromiseSentence(const PrivacyStatement& statement) {
  const bool is_example = statement.unit == PrivacyUnit::kTrainingExample;
  return Opening(statement.released) + PrivateTo(statement) + " for " +
         (is_example ? "one document; a user with several is promised nothing."
          : statement.adjacency == Adjacency::kEmptied
              ? "one user's text, against the same user without any; the list of users is public."
              : "one user's text.") +
         WeaknessOf(statement);
}

std::string WeaknessOf(const PrivacyStatement& statement) {
  const auto best =
      BestEpsilon(StatedBounds(statement), statement.delta, ConversionKind::kImproved);
  if (!best.ok() || best->epsilon <= kWeakEpsilon) return "";
  return " That is weak: an epsilon above 10 excludes hardly anything.";
}

std::string DeltaCaution(double delta, double users) {
  const double most = 0.1 / users;
  if (delta <= most) return "";
  return "delta " + base::NumberText(delta) + " is above a tenth of 1 / users, " +
         base::NumberText(most, 2) +
         ": with that probability a user's text may be given away; a smaller one says more";
}

Promise PromiseOf(const PrivacyStatement& statement) {
  if (statement.unit == PrivacyUnit::kPart) return OfPart(statement);
  const bool is_proven = statement.worst_case && statement.proven;
  const bool is_example = statement.unit == PrivacyUnit::kTrainingExample;
  return MakePromise(is_proven ? PromiseSentence(statement) : NoPromise(statement),
                     {{is_example ? "document" : "user", statement}});
}

Promise MakePromise(std::string sentence, const std::vector<PromiseLevel>& levels) {
  SUBMIX_CHECK(!levels.empty(), "a promise to nobody");
  Promise promise;
  promise.sentence = std::move(sentence);
  for (const PromiseLevel& level : levels) promise.columns.push_back(level.column);
  for (const RowKind& kind : kRows) {
    PromiseRow& row = promise.rows.emplace_back();
    row.label = kind.label;
    for (const PromiseLevel& level : levels) {
      const bool is_there = level.nothing_because.empty() || kind.is_there_regardless;
      row.cells.push_back(is_there             ? kind.cell(level.statement)
                          : &kind == &kRows[0] ? level.nothing_because
                                               : kNothing);
    }
  }
  return promise;
}

std::vector<PromiseRow> LabelRows(const PrivacyStatement& statement) {
  std::vector<PromiseRow> rows;
  for (const RowKind& kind : kRows) {
    if (kind.is_label) rows.push_back({kind.label, {kind.cell(statement)}});
  }
  return rows;
}

std::vector<std::string> Promise::Lines() const {
  std::vector<std::vector<std::string>> table = {{""}};
  for (const std::string& column : columns) table.front().push_back("one " + column);
  for (const PromiseRow& row : rows) {
    table.push_back({row.label});
    table.back().insert(table.back().end(), row.cells.begin(), row.cells.end());
  }
  std::vector<std::string> lines = base::WrappedLines(sentence);
  lines.emplace_back();
  for (std::string& line : base::TableLines(table)) lines.push_back(std::move(line));
  return lines;
}

std::string Promise::ToText() const {
  std::string text;
  for (const std::string& line : Lines()) text += line + "\n";
  return text;
}

}  // namespace submix::accounting
