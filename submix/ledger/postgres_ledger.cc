// The shared ledger: a PostgreSQL database that several servers charge at the same time, and an
// anchor file beside each.
#include <mutex>
#include <optional>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/ledger/ledger_store.h"
#include "submix/ledger/postgres_connection.h"
#include "submix/ledger/postgres_tables.h"

namespace submix::ledger {
namespace {

base::StatusOr<PostgresTables> Connect(const std::string& location) {
  SUBMIX_ASSIGN_OR_RETURN(PostgresConnection connection, PostgresConnection::Open(location));
  return PostgresTables(std::move(connection));
}

// Keeps no state of the ledger: other processes charge it too. Each transaction reads and checks it
// anew. Nor does it keep a connection that has failed, so a database that comes back is used again;
// one that ended while idle costs no charge.
class PostgresLedger final : public DurableLedger {
 public:
  PostgresLedger(DurableLedgerOptions options, PostgresTables tables, bool may_charge,
                 const AnchorPosition& anchor)
      : DurableLedger(base::ToHex(anchor.lineage)),
        options_(std::move(options)),
        may_charge_(may_charge),
        tables_(std::move(tables)),
        anchor_(anchor),
        fingerprint_(options_.fingerprint) {}

  base::Status Verify() const override {
    SUBMIX_ASSIGN_OR_RETURN(PostgresTables tables, Connect(options_.location));
    const AnchorPosition position = GuardedCopy(anchor_);
    SUBMIX_ASSIGN_OR_RETURN(StoredLedger stored, tables.ReadVerified(position.head.records));
    return CheckStored(std::move(stored), GuardedCopy(fingerprint_), &position, tables.name())
        .status();
  }

  base::Status Recover() override {
    const std::lock_guard guard(mutex_);
    base::Status status = CatchUp();
    if (!status.ok()) tables_.reset();
    return status;
  }

 protected:
  base::StatusOr<std::int64_t> AppendRecord(const Change& change) override {
    const std::lock_guard guard(mutex_);
    SUBMIX_RETURN_IF_ERROR(unanchored_);
    auto number = AppendInTransaction(change);
    if (!number.ok()) tables_.reset();
    return number;
  }

  base::StatusOr<LedgerContents> Read() const override {
    const std::lock_guard guard(mutex_);
    auto contents = ReadSnapshot();
    if (!contents.ok()) tables_.reset();
    return contents;
  }

 private:
  template <typename T>
  T GuardedCopy(const T& member) const {
    const std::lock_guard guard(mutex_);
    return member;
  }

  // Requires, as all below: mutex_ held.
  base::Status Reconnect() const {
    if (tables_.has_value()) return base::OkStatus();
    SUBMIX_ASSIGN_OR_RETURN(tables_, Connect(options_.location));
    return base::OkStatus();
  }

  // What `read`, a function of the tables, finds. A connection that ended while nobody used it, as
  // poolers, firewalls and restarts end them, is replaced once. Requires: `read` reads, and writes
  // nothing: doing it twice charges nothing twice.
  template <typename Reading>
  base::StatusOr<LedgerContents> ReadOnLiveConnection(const Reading& read) const {
    SUBMIX_RETURN_IF_ERROR(Reconnect());
    base::StatusOr<StoredLedger> stored = read(*tables_);
    if (!stored.ok() && tables_->is_lost()) {
      tables_.reset();
      SUBMIX_RETURN_IF_ERROR(Reconnect());
      stored = read(*tables_);
    }
    if (!stored.ok()) return stored.status();
    return CheckStored(std::move(stored).value(), fingerprint_, &anchor_, tables_->name());
  }

  base::StatusOr<LedgerContents> ReadSnapshot() const {
    return ReadOnLiveConnection(
        [&](PostgresTables& tables) { return tables.ReadSnapshot(anchor_.head.records); });
  }

  // Begins a charge's transaction: the state that it stands on.
  base::StatusOr<LedgerContents> BeginCharge() {
    SUBMIX_RETURN_IF_ERROR(Reconnect());
    if (!may_charge_) return OpenForReadingError(tables_->name());
    return ReadOnLiveConnection(
        [&](PostgresTables& tables) { return tables.BeginCharge(anchor_.head.records); });
  }

  // A transaction that could charge, and charges nothing; then the anchor.
  base::Status CatchUp() {
    SUBMIX_ASSIGN_OR_RETURN(const LedgerContents contents, BeginCharge());
    SUBMIX_RETURN_IF_ERROR(tables_->Commit());
    SUBMIX_ASSIGN_OR_RETURN(anchor_,
                            AdvanceAnchor(options_.anchor_path, {anchor_.lineage, contents.head}));
    unanchored_ = base::OkStatus();
    return base::OkStatus();
  }

  base::StatusOr<std::int64_t> AppendInTransaction(const Change& change) {
    SUBMIX_ASSIGN_OR_RETURN(const LedgerContents before, BeginCharge());
    LedgerState after = before.state;
    SUBMIX_ASSIGN_OR_RETURN(std::string payload, change(after));
    const Record record = ChainRecord(before.head, std::move(payload));
    SUBMIX_RETURN_IF_ERROR(tables_->Write(record, before.state, after));
    // If this fails the record may be there or not. No receipt is made, and the next transaction
    // reads which it is.
    SUBMIX_RETURN_IF_ERROR(tables_->Commit());
    const auto anchored =
        AdvanceAnchor(options_.anchor_path, {anchor_.lineage, {record.number, record.hash}});
    // Going on without an anchor would spend at every step and release nothing.
    fingerprint_ = after.fingerprint;
    if (!anchored.ok()) return unanchored_ = NotDurableError(anchored.status());
    anchor_ = *anchored;
    return record.number;
  }

  const DurableLedgerOptions options_;
  const bool may_charge_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  mutable std::optional<PostgresTables> tables_;
  AnchorPosition anchor_;  // what this process knows to be in the ledger
  base::Sha256Digest fingerprint_;
  base::Status unanchored_;  // why the anchor could not be advanced, until it is
};

base::StatusOr<std::unique_ptr<DurableLedger>> OpenLedger(const DurableLedgerOptions& options,
                                                          bool may_charge) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string name, PostgresConnection::NameOf(options.location));
  SUBMIX_ASSIGN_OR_RETURN(AnchorPosition anchor, AnchorOf(options, name));
  if (may_charge) {  // it is there already: can it be written?
    SUBMIX_RETURN_IF_ERROR(AdvanceAnchor(options.anchor_path, anchor).status());
  }
  SUBMIX_ASSIGN_OR_RETURN(PostgresTables tables, Connect(options.location));
  SUBMIX_ASSIGN_OR_RETURN(StoredLedger stored, tables.ReadSnapshot(anchor.head.records));
  SUBMIX_ASSIGN_OR_RETURN(const LedgerContents contents,
                          CheckStored(std::move(stored), options.fingerprint, &anchor, name));
  if (may_charge) {
    SUBMIX_ASSIGN_OR_RETURN(anchor,
                            AdvanceAnchor(options.anchor_path, {anchor.lineage, contents.head}));
  }
  return std::unique_ptr<DurableLedger>(
      new PostgresLedger(options, std::move(tables), may_charge, anchor));
}

base::Status CreatePostgres(const DurableLedgerOptions& options, const LedgerState& state,
                            const Record& first) {
  SUBMIX_ASSIGN_OR_RETURN(PostgresTables tables, Connect(options.location));
  SUBMIX_RETURN_IF_ERROR(tables.BeginCreation(state));
  SUBMIX_RETURN_IF_ERROR(tables.Insert(first));
  // The ledger appears as the last act: whoever finds it finds it whole.
  SUBMIX_RETURN_IF_ERROR(
      CreateAnchor(options.anchor_path, {state.lineage, {first.number, first.hash}}));
  base::Status status = tables.Commit();
  if (!status.ok()) (void)base::RemoveAll(options.anchor_path);
  return status;
}

base::StatusOr<std::unique_ptr<DurableLedger>> OpenPostgres(const DurableLedgerOptions& options) {
  return OpenLedger(options, /*may_charge=*/true);
}

base::StatusOr<std::unique_ptr<DurableLedger>> OpenPostgresReadOnly(
    const DurableLedgerOptions& options) {
  return OpenLedger(options, /*may_charge=*/false);
}

base::StatusOr<LedgerContents> ReadPostgresWithoutAnchor(const DurableLedgerOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(PostgresTables tables, Connect(options.location));
  SUBMIX_ASSIGN_OR_RETURN(StoredLedger stored, tables.ReadVerified(0));
  return CheckStored(std::move(stored), options.fingerprint, nullptr, tables.name());
}

}  // namespace

const LedgerStore& PostgresStore() {
  static constexpr LedgerStore kStore{CreatePostgres, OpenPostgres, OpenPostgresReadOnly,
                                      ReadPostgresWithoutAnchor};
  return kStore;
}

base::Status CopyIntoPostgres(
    const std::string& location, const LedgerState& state,
    const std::function<base::Status(const RecordVisitor&)>& for_each_record) {
  SUBMIX_ASSIGN_OR_RETURN(PostgresTables tables, Connect(location));
  SUBMIX_RETURN_IF_ERROR(tables.BeginCreation(state));
  SUBMIX_RETURN_IF_ERROR(
      for_each_record([&](const Record& record) { return tables.Insert(record); }));
  return tables.Commit();
}

}  // namespace submix::ledger
