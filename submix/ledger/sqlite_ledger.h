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
  // Makes a new ledger with these accounts (spent must be given too: carried over or zero).
  // Errors: kAlreadyExists, kResourceExhausted.
  static base::Status Create(const SqliteLedgerOptions& options, const std::vector<Account>& parts,
                             const std::string& order_text);
  // Opens for charging. Takes the one writer's lock until destroyed. Checks format, fingerprint,
  // chain head and anchor. Errors: kNotFound; kUnavailable if another process has it open for
  // charging; kFailedPrecondition for another deployment's ledger or a newer format; kDataLoss for
  // a damaged file or one older than its anchor.
  static base::StatusOr<std::unique_ptr<SqliteLedger>> Open(const SqliteLedgerOptions& options);
  // Opens for reading beside a writer: Accounts, head, Verify. Charge refuses.
  static base::StatusOr<std::unique_ptr<SqliteLedger>> OpenReadOnly(
      const SqliteLedgerOptions& options);

  // Binds the same ledger to a new fingerprint (after `forget`) by a chained record; everything
  // spent stays spent.
  virtual base::Status Rebind(const base::Sha256Digest& new_fingerprint) = 0;
};

}  // namespace submix::ledger
