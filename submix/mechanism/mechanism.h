// A mechanism: public and member pmfs of one token → a proposed charge for every part → the mixture
// of the parts that paid. No clock, no I/O, no globals. One mechanism a file.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "submix/accounting/charge_rule.h"
#include "submix/accounting/fixed_nats.h"
#include "submix/accounting/privacy_statement.h"
#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/divergence/renyi_order.h"
#include "submix/mechanism/part_predictions.h"
#include "submix/mechanism/private_mixture.h"

namespace submix::mechanism {

// What one token would cost every part, and the means to form its mixture once it is known who
// paid. One thread at a time; used once.
class Proposal {
 public:
  virtual ~Proposal() = default;

  base::ReleaseId release_id() const { return release_id_; }
  // [K], part i's charge at the declared order, rounded up; Unpayable if no budget could hold it.
  const std::vector<accounting::FixedNats>& charges() const { return charges_; }

  // The mixture of exactly the parts with paid[i]; the public model stands in for the others.
  // Requires: paid.size() == K. Consumes the proposal.
  virtual PrivateMixture Mix(const std::vector<bool>& paid) && = 0;

 protected:
  Proposal(base::ReleaseId release_id, std::vector<accounting::FixedNats> charges)
      : release_id_(release_id), charges_(std::move(charges)) {}
  // The charges of the parts that paid, zero elsewhere: what the receipt must show.
  std::vector<accounting::FixedNats> PaidCharges(const std::vector<bool>& paid) const;

 private:
  base::ReleaseId release_id_;
  std::vector<accounting::FixedNats> charges_;
};

// Immutable after construction; thread-safe.
class Mechanism {
 public:
  virtual ~Mechanism() = default;

  // As on the command line and in deployment.json, such as "filtered-submix".
  virtual std::string_view name() const = 0;
  // True if the statement's guarantee is proven for every data set; false = labelled `research`.
  virtual bool is_sound() const = 0;
  virtual accounting::ChargeRule charge_rule() const = 0;
  // Members a part that the mechanism needs at least: 1 or 2. With 1, several members a part are
  // averaged into one pmf.
  virtual int halves() const = 0;
  // The statement that goes with every epsilon of this mechanism under this budget (contract 9).
  virtual accounting::PrivacyStatement Statement(accounting::FixedNats budget) const = 0;

  // Proposes the release of one token. remaining[i] is part i's own remaining budget; it may steer
  // part i alone (proofs.md T1). Errors: kInvalidArgument if sizes do not fit. A member that is not
  // a pmf makes its part null for this token, never an error (T13).
  virtual base::StatusOr<std::unique_ptr<Proposal>> Propose(
      const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
      base::ReleaseId release_id) const = 0;
};

// Options of every mechanism; each reads its own.
struct MechanismOptions {
  int num_parts = 0;
  divergence::RenyiOrder order = divergence::RenyiOrder::Two();
  // Cap on one charge in nats (β). Public. > 0.
  double target_leakage = 0;
  // Largest mixing weight, in (0, 1]; the floor is f = 1 − this (filtered-submix).
  double max_mixing_weight = 0.6;
};

// Errors: kInvalidArgument for an unknown name (the message lists the known ones) or options out of
// range.
base::StatusOr<std::unique_ptr<Mechanism>> MakeMechanism(std::string_view name,
                                                         const MechanismOptions& options);

}  // namespace submix::mechanism
