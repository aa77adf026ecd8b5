#include "submix/accounting/privacy_statement.h"

#include <cmath>
#include <utility>

#include "submix/accounting/user_level.h"
#include "submix/base/number_text.h"

namespace submix::accounting {
namespace {

using divergence::RenyiOrder;

constexpr int kShownDigits = 4;
// What is within some roundings of the shorter number counts as that number, so that 3 * 2 nats do
// not read 6.001. Bounds that were computed are outward by far more (fixed_nats.h).
constexpr double kTolerance = 0x1p-48;

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

// The unit of the last digit that is shown. Requires: value > 0, finite.
double LastDigit(double value) {
  return std::pow(10, std::floor(std::log10(value)) - (kShownDigits - 1));
}

}  // namespace

std::string AdjacencyWords(Adjacency adjacency) {
  switch (adjacency) {
    case Adjacency::kNull:
      return "replaced by the public model";
    case Adjacency::kReplace:
      return "records changed, added or removed";
    case Adjacency::kPresence:
      return "present or absent";
    case Adjacency::kEmptied:
      return "records emptied; that the user is on the list is public";
  }
  return "";
}

std::string PrivacyStatement::Labels() const {
  return "unit: " + UnitWords(unit) + "; adjacency: " + AdjacencyWords(adjacency) +
         (!worst_case ? "; data-dependent: for this data only, and private itself"
          : proven    ? "; worst case: holds for every data set"
                      : "; worst case, as its authors claim") +
         (proven ? "; proven: " : "; NOT proven: ") + proof;
}

PrivacyStatement ProvenStatement(PrivacyUnit unit, Adjacency adjacency, std::string proof) {
  PrivacyStatement statement;
  statement.unit = unit;
  statement.adjacency = adjacency;
  statement.worst_case = true;
  statement.proven = true;
  statement.proof = std::move(proof);
  return statement;
}

PrivacyStatement PartLevelStatement(std::string mechanism, RenyiOrder order, FixedNats epsilon,
                                    std::string proof) {
  PrivacyStatement statement =
      ProvenStatement(PrivacyUnit::kPart, Adjacency::kNull, std::move(proof));
  statement.mechanism = std::move(mechanism);
  statement.order = order;
  statement.epsilon = epsilon;
  return statement;
}

PrivacyStatement ResearchStatement(std::string mechanism, RenyiOrder order, FixedNats epsilon,
                                   std::string gap) {
  PrivacyStatement statement =
      PartLevelStatement(std::move(mechanism), order, epsilon, "research: " + gap);
  statement.worst_case = false;
  statement.proven = false;
  return statement;
}

PrivacyStatement WithEarlierAnswers(const PrivacyStatement& answers, RenyiOrder order,
                                    FixedNats epsilon) {
  if (!answers.worst_case || !answers.proven) return answers;
  return PartLevelStatement(answers.mechanism, order, epsilon,
                            answers.proof + "; earlier answers: Theorem 16");
}

std::vector<RdpBound> StatedBounds(const PrivacyStatement& statement) {
  std::vector<RdpBound> bounds = {{statement.order, statement.epsilon.ToNatsRoundedUp()}};
  bounds.insert(bounds.end(), statement.further_bounds.begin(), statement.further_bounds.end());
  return bounds;
}

std::vector<RdpBound> StatedUserLevelBounds(const PrivacyStatement& statement) {
  const std::vector<RdpBound> part_bounds = StatedBounds(statement);
  // Emptied, the one user of a part leaves the public model.
  if (statement.public_keys) return part_bounds;
  if (!statement.user_level_bounds.empty()) return statement.user_level_bounds;
  // One user's records are in one part: replacing that part covers it.
  if (statement.adjacency == Adjacency::kReplace) return part_bounds;
  std::vector<RdpBound> bounds;
  for (const RdpBound& part : part_bounds) {
    const auto user = UserLevelFromPartOrder(part.order);
    if (user.ok()) bounds.push_back({user->order, user->factor * part.rdp});
  }
  return bounds;
}

std::optional<PrivacyStatement> UserLevelStatement(const PrivacyStatement& statement) {
  if (!statement.worst_case || !statement.proven) return std::nullopt;
  std::vector<RdpBound> bounds = StatedUserLevelBounds(statement);
  if (bounds.empty()) return std::nullopt;
  PrivacyStatement of_user = statement;
  of_user.unit = PrivacyUnit::kUserKey;
  of_user.adjacency = statement.public_keys ? Adjacency::kEmptied : Adjacency::kReplace;
  if (statement.public_keys) {
    of_user.proof += "; from part to user key: one user a part (Public keys)";
  } else if (statement.adjacency == Adjacency::kNull && statement.user_level_bounds.empty()) {
    of_user.proof += "; from part to user key: Theorem 5";
  }
  of_user.order = bounds.front().order;
  of_user.epsilon = FixedNats::RoundUp(bounds.front().rdp);
  of_user.further_bounds.assign(bounds.begin() + 1, bounds.end());
  of_user.user_level_bounds.clear();
  return of_user;
}

std::string FormatCost(double nats) {
  if (!(nats > 0) || std::isinf(nats)) return base::NumberText(nats);
  const double unit = LastDigit(nats);
  return base::NumberText(std::ceil(nats / unit * (1 - kTolerance)) * unit);
}

std::string FormatAllowance(double value) {
  if (!(value > 0) || std::isinf(value)) return base::NumberText(value);
  const double unit = LastDigit(value);
  return base::NumberText(std::floor(value / unit * (1 + kTolerance)) * unit);
}

std::string FormatOrder(RenyiOrder order) {
  return order.is_infinite() ? order.ToString() : FormatAllowance(order.value());
}

}  // namespace submix::accounting
