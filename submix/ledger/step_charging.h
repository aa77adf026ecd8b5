// What one engine step books on the accounts: the same arithmetic for every ledger. The rule itself
// is accounting/charge_accounts.h; here its outcome is named, part by part, as records keep it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "submix/accounting/charge_rule.h"
#include "submix/accounting/fixed_nats.h"
#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/ledger/ledger.h"

namespace submix::ledger {

// Persistent values: never renumbered.
enum class Outcome : std::uint8_t {
  kSatOut = 0,   // could not pay, or the release stopped: nothing booked
  kPaid = 1,     // `amount` paid for taking part
  kEmptied = 2,  // a stop took `amount`, all that was left (ChargeRule::kAllOrStop)
};

struct BookedPart {
  Outcome outcome = Outcome::kSatOut;
  accounting::FixedNats amount;
  auto operator<=>(const BookedPart&) const = default;
};

struct BookedRequest {
  base::ReleaseId release_id;
  accounting::ChargeRule rule = accounting::ChargeRule::kPerPart;
  std::vector<BookedPart> parts;  // [K]
  bool operator==(const BookedRequest&) const = default;
};

// Books the requests in order on `accounts`: earlier ones count before later ones are decided. On
// an error nothing has changed. Errors: kInvalidArgument unless every request has one charge an
// account and a rule that exists.
base::StatusOr<std::vector<BookedRequest>> BookStep(std::span<const ChargeRequest> step,
                                                    std::vector<Account>& accounts);

}  // namespace submix::ledger
