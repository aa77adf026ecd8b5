// The durable privacy budget: per-account fixed-point charges that only grow, in hash-chained
// records. Format: docs/ledger_format.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "submix/accounting/charge_rule.h"
#include "submix/accounting/fixed_nats.h"
#include "submix/base/digest.h"
#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/ledger/receipt.h"

namespace submix::ledger {

// One account: a part of the ensemble ("part 0" …), or "training".
struct Account {
  std::string name;
  accounting::FixedNats budget;
  accounting::FixedNats spent;
};

// The charges of one token, in the order of the part accounts.
struct ChargeRequest {
  base::ReleaseId release_id;
  accounting::ChargeRule rule = accounting::ChargeRule::kPerPart;
  std::span<const accounting::FixedNats> charges;  // [K]
};

// Thread-safe. Whoever else charges or reads a durable ledger meanwhile (durable_ledger.h) sees
// committed states, in one order for all.
class Ledger {
 public:
  virtual ~Ledger() = default;

  // Durably charges one engine step: the tokens' requests in the given order, in one transaction.
  // For each, and each part, whether it can pay (spent + charge <= budget) is decided here,
  // atomically. Returns one receipt a request, in order; a part that could not pay is marked so in
  // its receipt. When this returns, the charges survive kill -9 and power loss. Never refunds.
  // Errors: kInvalidArgument if sizes do not fit; kUnavailable if the ledger's database cannot be
  // reached or its commit was not confirmed: no receipt exists, the charge may stand all the same,
  // and the next call tries again; kResourceExhausted, kFailedPrecondition, kInternal, kDataLoss if
  // the charge could not be made durable: no receipt exists, the charge counts as spent, and the
  // ledger refuses everything until Recover has succeeded.
  virtual base::StatusOr<std::vector<Receipt>> Charge(std::span<const ChargeRequest> step) = 0;

  // After a failed Charge: believes nothing but what is stored, checks it as Open does, makes
  // durable what was left in doubt, and so finds out whether the cause is gone. Ok if charges can
  // be tried again, also if nothing has failed. Charges nothing new. Errors: Charge's, with
  // everything as it was.
  virtual base::Status Recover() { return base::OkStatus(); }

  // The part accounts, in order. For the operator and for the bridge; never for a client.
  virtual base::StatusOr<std::vector<Account>> Accounts() const = 0;
  // What each part has left, in order.
  base::StatusOr<std::vector<accounting::FixedNats>> Remaining() const;

  // Number of records and the hash of the newest one.
  struct Head {
    std::int64_t records = 0;
    base::Sha256Digest hash{};
  };
  virtual base::StatusOr<Head> head() const = 0;

  // Recomputes the whole chain and every account's sum. Errors: kDataLoss, naming the first record
  // at which it breaks.
  virtual base::Status Verify() const = 0;
};

}  // namespace submix::ledger
