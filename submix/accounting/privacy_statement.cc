#include "submix/accounting/privacy_statement.h"

#include <cmath>
#include <cstdio>

#include "submix/accounting/stated_bounds.h"

namespace submix::accounting {
namespace {

using divergence::RenyiOrder;

constexpr int kShownDigits = 4;

std::string FormatShort(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%.6g", value);
  return buffer;
}

std::string UnitWords(PrivacyUnit unit) {
  switch (unit) {
    case PrivacyUnit::kPart:
      return "part";
    case PrivacyUnit::kUserKey:
      return "user key";
    case PrivacyUnit::kTrainingExample:
      return "training example";
  }
  return "";
}

std::string AdjacencyWords(Adjacency adjacency) {
  switch (adjacency) {
    case Adjacency::kNull:
      return "replaced by the public model";
    case Adjacency::kReplace:
      return "records changed, added or removed";
    case Adjacency::kPresence:
      return "present or absent";
  }
  return "";
}

std::string Bracketed(const std::string& labels) { return " [" + labels + "]"; }

std::string BoundLine(const RdpBound& bound, const std::string& labels) {
  return FormatCost(bound.rdp) + " nats of Renyi divergence at order " +
         FormatShort(bound.order.value()) + ", in both directions, over all answers together" +
         labels;
}

std::string ConversionLine(const std::vector<RdpBound>& bounds, double delta,
                           const std::string& labels) {
  const auto best = BestEpsilon(bounds, delta, ConversionKind::kImproved);
  if (!best.ok()) {
    return "no (epsilon, delta) follows: the conversion needs an order of at least 1.01 and a "
           "delta in (0, 1)" +
           labels;
  }
  const char* const which = bounds.size() == 1 ? ", the only order that binds" : ", the best";
  return "(" + FormatCost(best->epsilon) + ", " + FormatShort(delta) +
         ")-differential privacy, improved conversion from order " +
         FormatShort(best->order.value()) + which + labels;
}

void AddUserLevelLines(const PrivacyStatement& statement, std::vector<std::string>& lines) {
  if (statement.unit != PrivacyUnit::kPart) return;  // said already, or no parts
  if (!statement.worst_case || !statement.proven) {
    lines.push_back(
        "for one user key nothing follows: that needs a part-level bound proven for every data "
        "set");
    return;
  }
  const std::vector<RdpBound> bounds = StatedUserLevelBounds(statement);
  if (bounds.empty()) {
    lines.push_back("for one user key nothing follows from orders of 1 and below");
    return;
  }
  PrivacyStatement of_user = statement;
  of_user.unit = PrivacyUnit::kUserKey;
  of_user.adjacency = Adjacency::kReplace;
  const std::string labels = Bracketed(of_user.Labels());
  lines.push_back(BoundLine(bounds.front(), labels));
  lines.push_back(ConversionLine(bounds, statement.delta, labels));
}

}  // namespace

std::vector<std::string> PrivacyStatement::Lines() const {
  const std::vector<RdpBound> bounds = StatedBounds(*this);
  const std::string labels = Bracketed(Labels());
  std::vector<std::string> lines = {"mechanism: " + mechanism, BoundLine(bounds.front(), labels),
                                    ConversionLine(bounds, delta, labels)};
  AddUserLevelLines(*this, lines);
  return lines;
}

std::string PrivacyStatement::ToText() const {
  std::string text;
  for (const std::string& line : Lines()) text += line + "\n";
  return text;
}

std::string PrivacyStatement::Labels() const {
  return "unit: " + UnitWords(unit) + "; adjacency: " + AdjacencyWords(adjacency) +
         (!worst_case ? "; data-dependent: for this data only, and private itself"
          : proven    ? "; worst case: holds for every data set"
                      : "; worst case, as its authors claim") +
         (proven ? "; proven: " : "; NOT proven: ") + proof;
}

std::string FormatCost(double nats) {
  if (!(nats > 0) || std::isinf(nats)) return FormatShort(nats);
  // What is within 1e-9 of the shorter number counts as that number, so that 3 * 2 nats do not read
  // 6.001.
  const double last_digit = std::pow(10, std::floor(std::log10(nats)) - (kShownDigits - 1));
  return FormatShort(std::ceil(nats / last_digit * (1 - 1e-9)) * last_digit);
}

}  // namespace submix::accounting
