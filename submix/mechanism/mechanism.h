// A mechanism: public and member pmfs of one token → a proposed charge for every part → the mixture
// of the parts that paid. No clock, no I/O, no globals. One mechanism a file.
// What a mechanism's own header needs for this interface it has from here.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "submix/accounting/charge_rule.h"
#include "submix/accounting/fixed_nats.h"
#include "submix/accounting/privacy_statement.h"
#include "submix/base/ids.h"
#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/mechanism/mechanism_options.h"
#include "submix/mechanism/part_predictions.h"
#include "submix/mechanism/private_mixture.h"
#include "submix/mechanism/private_screen.h"

namespace submix::mechanism {

// What the next release would cost every part, and the means to form it once it is known who paid.
// A proposal leads to a token's mixture; with a mechanism that screens, the first one of a token
// leads to a screen, which gives the second. One thread at a time; used once. Its mechanism and the
// predictions must outlive it.
class Proposal {
 public:
  virtual ~Proposal() = default;

  base::ReleaseId release_id() const { return release_id_; }
  // [K], part i's charge at the declared order, rounded up; Unpayable if no budget could hold it.
  const std::vector<accounting::FixedNats>& charges() const { return charges_; }
  // The charges of the parts that paid, zero elsewhere: what the receipt must show.
  std::vector<accounting::FixedNats> PaidCharges(const std::vector<bool>& paid) const;

  // True if Screen comes next, false if Mix does. Public.
  virtual bool leads_to_screen() const { return false; }
  // The mixture of exactly the parts with paid[i]; the public model stands in for the others.
  // `random` is for mechanisms whose law is itself drawn (secret subsets, noise); what was drawn
  // stays sealed in the mixture. Requires: paid.size() == K, !leads_to_screen(). Consumes the
  // proposal.
  virtual PrivateMixture Mix(const std::vector<bool>& paid, base::RandomSource& random) && = 0;
  // The comparison of exactly the parts with paid[i]. Requires: paid.size() == K,
  // leads_to_screen(). Consumes the proposal; what it was made from must outlive the screen too.
  virtual PrivateScreen Screen(const std::vector<bool>& paid) &&;

 protected:
  Proposal(base::ReleaseId release_id, std::vector<accounting::FixedNats> charges)
      : release_id_(release_id), charges_(std::move(charges)) {}

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
  // False: no guarantee at all, no budget pays for it, and it cannot be deployed; for evaluation
  // and attacks, where OperatorView::Participants lets everybody take part.
  virtual bool is_private() const { return true; }
  // The sound one, for charges that are part-local; research that counts otherwise says so here.
  virtual accounting::ChargeRule charge_rule() const { return accounting::ChargeRule::kPerPart; }
  // True if every token costs every part the same public constant, above zero and per part: then
  // all accounts come to their end with the same token, and which one that is is public.
  virtual bool has_constant_charge() const { return false; }
  // The most, in nats, by which all parts together can move the log ratio of two tokens' weights; a
  // public constant, from which SamplingOptions::top_k_plus follows. Infinity: there is none.
  virtual double log_ratio_range() const { return std::numeric_limits<double>::infinity(); }
  // Members a part that the mechanism needs at least: 1 or 2. With 1, several members a part are
  // averaged into one pmf.
  virtual int halves() const { return 1; }
  // The statement that goes with every epsilon of this mechanism under this budget (contract 9).
  virtual accounting::PrivacyStatement Statement(accounting::FixedNats budget) const = 0;

  // Proposes the release of one token, or of its screen. remaining[i] is part i's own remaining
  // budget; it may steer part i alone (Theorem 1). Errors: kInvalidArgument if sizes do not fit.
  // A member that is not a pmf makes its part null for this token, never an error.
  virtual base::StatusOr<std::unique_ptr<Proposal>> Propose(
      const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
      base::ReleaseId release_id) const = 0;
};

}  // namespace submix::mechanism
