// The ledgers that last: an SQLite file that one server charges, or a PostgreSQL database that
// several servers charge at the same time. Records, chain and anchor are the same in both.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "submix/ledger/ledger.h"

namespace submix::ledger {

struct LedgerContents;
struct LedgerState;

struct DurableLedgerOptions {
  // The path of an SQLite file, or postgresql://HOST/DATABASE, without a password: libpq finds that
  // in ~/.pgpass or $PGPASSFILE.
  std::string location;
  std::string anchor_path;  // head and counter, kept outside: notices a restored older copy
  // What the ledger is bound to: the deployment's fingerprint.
  base::Sha256Digest fingerprint{};
};

class DurableLedger : public Ledger {
 public:
  // Whether a location is a PostgreSQL database: postgresql:// or postgres://.
  static bool IsPostgres(std::string_view location);

  // Makes a new ledger with these accounts (spent must be given too: carried over or zero; more
  // than the budget is allowed and leaves nothing); a file is readable by its owner alone. Errors:
  // kInvalidArgument; kAlreadyExists if there is a ledger or an anchor; kResourceExhausted;
  // kUnavailable if the database cannot be reached; kUnimplemented if the build has no PostgreSQL.
  static base::Status Create(const DurableLedgerOptions& options, const std::vector<Account>& parts,
                             const std::string& order_text);
  // Opens for charging: an SQLite ledger for this process alone, until destroyed. Checks format,
  // fingerprint, chain head and anchor; the older part of the chain is Verify's. A ledger of an
  // older format is migrated. Errors: kNotFound; kUnavailable if another process has the file open
  // for charging, or the database cannot be reached; kFailedPrecondition for another deployment's
  // ledger, a newer format, files that cannot be written or a database that does not sync;
  // kDataLoss for damage, a missing anchor or a ledger older than its anchor.
  static base::StatusOr<std::unique_ptr<DurableLedger>> Open(const DurableLedgerOptions& options);
  // Opens for reading beside who charges: Accounts, head, Verify. Charge and Rebind refuse. Errors:
  // as Open; kFailedPrecondition for an older format.
  static base::StatusOr<std::unique_ptr<DurableLedger>> OpenReadOnly(
      const DurableLedgerOptions& options);
  // Writes a new anchor where it is missing or damaged, after verifying the whole chain. For an
  // operator who vouches that this is the newest copy of the ledger: nothing else can tell.
  // Errors: kAlreadyExists if there is a whole anchor; otherwise as Open.
  static base::Status RestoreAnchor(const DurableLedgerOptions& options);

  base::StatusOr<std::vector<Receipt>> Charge(std::span<const ChargeRequest> step) final;
  base::StatusOr<std::vector<Account>> Accounts() const final;
  base::StatusOr<Head> head() const final;

  // Binds the same ledger to a new fingerprint (after `forget`) by a chained record; everything
  // spent stays spent. Who has it open under the old one charges nothing any more. Errors: as
  // Charge.
  base::Status Rebind(const base::Sha256Digest& new_fingerprint);

  // Copies a file's ledger, open for charging, into an empty database, where it is the same ledger
  // with the same anchor. Requires that only one of the two is charged afterwards; while this one
  // is open nobody else charges it. The file then holds everything without those beside it.
  // Errors: Verify's, Create's; kFailedPrecondition if it is no file.
  virtual base::Status CopyToPostgres(const std::string& location);

  // The random name of this ledger's whole life, in hexadecimal; migration and rebinding keep it.
  const std::string& lineage() const { return lineage_; }

 protected:
  // Makes a state the one that is to follow it, and returns the payload of the record that says so.
  using Change = std::function<base::StatusOr<std::string>(LedgerState&)>;

  explicit DurableLedger(std::string lineage) : lineage_(std::move(lineage)) {}

  // Applies `change` to the newest state, durably, in one transaction and one total order. Returns
  // the record's number. Errors: Charge's, and those of `change`, which leave everything as it was.
  virtual base::StatusOr<std::int64_t> AppendRecord(const Change& change) = 0;
  // One committed state.
  virtual base::StatusOr<LedgerContents> Read() const = 0;

 private:
  const std::string lineage_;
};

}  // namespace submix::ledger
