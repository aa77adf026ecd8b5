// What a privacy number means: no epsilon is shown without unit, adjacency, order, scope and proof
// status (contract 9). How people read it: promise.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "submix/accounting/fixed_nats.h"
#include "submix/accounting/rdp_conversion.h"
#include "submix/divergence/renyi_order.h"

namespace submix::accounting {

// Whose data the two neighbouring worlds differ in.
enum class PrivacyUnit { kPart, kUserKey, kTrainingExample };

// How they differ.
enum class Adjacency {
  kNull,      // the part is replaced by the public model
  kReplace,   // the unit's records are changed, added or removed
  kPresence,  // the unit is there or not, everything else the same
  kEmptied,   // the unit's records are empty or not; that it is a unit is public
};

// "replaced by the public model".
std::string AdjacencyWords(Adjacency adjacency);

// What is given away, and so what the numbers count.
enum class Released { kAnswers, kModel, kAnswersAndPublicModel };

// A guarantee and everything that must be said with it. Plain value.
struct PrivacyStatement {
  std::string mechanism;  // as on the command line, such as "filtered-submix"
  Released released = Released::kAnswers;
  PrivacyUnit unit = PrivacyUnit::kPart;
  Adjacency adjacency = Adjacency::kNull;
  divergence::RenyiOrder order = divergence::RenyiOrder::Two();
  FixedNats epsilon;  // nats at `order`, over all that is ever released
  // True: holds for every data set. False: computed from this data, and so private itself.
  bool worst_case = false;
  // True: `proof` names the theorem. False: `proof` says what it does not cover ("research").
  bool proven = false;
  std::string proof;
  double delta = kDefaultDelta;  // of the conversions, in (0, 1)

  // Bounds that hold *at the same time* at further orders (a fixed number of tokens has them; a
  // filter does not): conversions take the best of these and (order, epsilon). Empty: the bound
  // order alone.
  std::vector<RdpBound> further_bounds;
  // User-level bounds proved directly (Theorem 6: doubled range). Empty: by Theorem 5 from `order`.
  std::vector<RdpBound> user_level_bounds;
  // Each part is one user of a public list: what holds of a part holds of its user, emptied.
  bool public_keys = false;

  // What must stand beside every number of the statement, in one line, for files: unit, adjacency,
  // scope, proof status.
  std::string Labels() const;
};

// Holds for every data set, by this proof. No numbers yet.
PrivacyStatement ProvenStatement(PrivacyUnit unit, Adjacency adjacency, std::string proof);
// One part is replaced by the public model: `epsilon` nats at `order` alone, over all answers,
// proven for every data set by what `proof` names.
PrivacyStatement PartLevelStatement(std::string mechanism, divergence::RenyiOrder order,
                                    FixedNats epsilon, std::string proof);
// The same, counted on this data and not proven: `gap` says what no proof covers.
PrivacyStatement ResearchStatement(std::string mechanism, divergence::RenyiOrder order,
                                   FixedNats epsilon, std::string gap);

// What remains of a statement whose budget also pays for answers of earlier deployments (Theorem
// 16): `epsilon` nats at the declared `order`, since no other bound is known of each of them.
PrivacyStatement WithEarlierAnswers(const PrivacyStatement& answers, divergence::RenyiOrder order,
                                    FixedNats epsilon);

// For the statement's own unit, at the same time: (order, epsilon) first, then further orders.
std::vector<RdpBound> StatedBounds(const PrivacyStatement& statement);

// What a part-level statement, proven and for every data set, means for one user key whose records
// are changed, added or removed; with public_keys, emptied. Empty: nothing follows. Requires:
// statement.worst_case, proven.
std::vector<RdpBound> StatedUserLevelBounds(const PrivacyStatement& statement);

// The same as a statement for one user key. None: nothing follows, because the part-level statement
// is not proven for every data set, or its orders are 1 and below. Requires: statement.unit is
// kPart.
std::optional<PrivacyStatement> UserLevelStatement(const PrivacyStatement& statement);

// A privacy cost with four digits, rounded up.
std::string FormatCost(double nats);
// What a cost may be at most, with four digits, rounded down.
std::string FormatAllowance(double nats);
// The order of a bound with four digits, rounded down: what holds at an order holds below it.
std::string FormatOrder(divergence::RenyiOrder order);

}  // namespace submix::accounting
