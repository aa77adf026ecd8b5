// What a privacy number means, in words: no epsilon is shown without unit, adjacency, order, scope
// and proof status (design contract 9).
#pragma once

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
};

// A guarantee and everything that must be said with it. Plain value.
struct PrivacyStatement {
  std::string mechanism;  // as on the command line, such as "filtered-submix"
  PrivacyUnit unit = PrivacyUnit::kPart;
  Adjacency adjacency = Adjacency::kNull;
  divergence::RenyiOrder order = divergence::RenyiOrder::Two();
  FixedNats epsilon;  // nats at `order`, over all answers ever given
  // True: holds for every data set. False: computed from this data, and so private itself.
  bool worst_case = false;
  // True: `proof` names the theorem. False: `proof` says what it does not cover ("research").
  bool proven = false;
  std::string proof;
  double delta = 1e-5;  // of the conversions, in (0, 1)

  // Bounds that hold *at the same time* at further orders (a fixed number of answers has them; a
  // filter does not): conversions take the best of these and (order, epsilon). Empty: the bound
  // order alone.
  std::vector<RdpBound> further_bounds;
  // User-level bounds proved directly (Theorem 6: doubled range). Empty: by Theorem 5 from `order`.
  std::vector<RdpBound> user_level_bounds;

  // For people: one sentence a line, each epsilon with all its labels: the part-level bound, its
  // (epsilon, delta) conversion, and what follows for one user key. The user level is stated only
  // if the guarantee is proven and worst case; else a line says that nothing follows.
  std::vector<std::string> Lines() const;
  // The lines, each ended by a newline.
  std::string ToText() const;
  // What must stand beside every number of the statement: unit, adjacency, scope, proof status.
  std::string Labels() const;
};

// A privacy cost with four digits, rounded up.
std::string FormatCost(double nats);

}  // namespace submix::accounting
