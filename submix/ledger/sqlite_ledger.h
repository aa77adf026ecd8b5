// The embedded ledger: one SQLite file (WAL, full sync) and an anchor file outside it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "submix/ledger/ledger.h"

namespace submix::ledger {

struct SqliteLedgerOptions {
  std::string path;         // ledger.sqlite
  std::string anchor_path;  // head and counter, kept outside: notices a restored older copy
  // What the ledger is bound to: the deployment's fingerprint.
  base::Sha256Digest fingerprint{};
};

class SqliteLedger : public Ledger {
 public:
  // Makes a new ledger with these accounts (spent must be given too: carried over or zero; more
  // than the budget is allowed and leaves nothing), readable by its owner alone. Errors:
  // kInvalidArgument; kAlreadyExists if there is a ledger or an anchor; kResourceExhausted.
  static base::Status Create(const SqliteLedgerOptions& options, const std::vector<Account>& parts,
                             const std::string& order_text);
  // Opens for charging. Takes the one writer's lock until destroyed. Checks format, fingerprint,
  // chain head and anchor; the older part of the chain is Verify's. A ledger of an older format is
  // migrated. Errors: kNotFound; kUnavailable if another process has it open for charging;
  // kFailedPrecondition for another deployment's ledger, a newer format or files that cannot be
  // written; kDataLoss for a damaged file, a missing anchor or a ledger older than its anchor.
  static base::StatusOr<std::unique_ptr<SqliteLedger>> Open(const SqliteLedgerOptions& options);
  // Opens for reading beside a writer: Accounts, head, Verify. Charge and Rebind refuse. Errors: as
  // Open; kFailedPrecondition for an older format.
  static base::StatusOr<std::unique_ptr<SqliteLedger>> OpenReadOnly(
      const SqliteLedgerOptions& options);
  // Writes a new anchor where it is missing or damaged, after verifying the whole chain. For an
  // operator who vouches that this is the newest copy of the ledger: nothing else can tell.
  // Errors: kAlreadyExists if there is a whole anchor; otherwise as Open.
  static base::Status RestoreAnchor(const SqliteLedgerOptions& options);

  // The random name of this ledger's whole life, in hexadecimal; migration and rebinding keep it.
  virtual std::string lineage() const = 0;

  // Binds the same ledger to a new fingerprint (after `forget`) by a chained record; everything
  // spent stays spent. Errors: as Charge.
  virtual base::Status Rebind(const base::Sha256Digest& new_fingerprint) = 0;
};

}  // namespace submix::ledger
