#include "submix/ledger/sqlite_ledger.h"

#include <filesystem>
#include <limits>
#include <mutex>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/base/random.h"
#include "submix/ledger/anchor.h"
#include "submix/ledger/ledger_checks.h"
#include "submix/ledger/ledger_records.h"
#include "submix/ledger/ledger_tables.h"
#include "submix/ledger/receipt_press.h"
#include "submix/ledger/sqlite_connection.h"
#include "submix/ledger/step_charging.h"

namespace submix::ledger {
namespace {

using Mode = SqliteConnection::Mode;

base::Status CheckExists(const std::string& path) {
  if (base::PosixFileSystem().Exists(path)) return base::OkStatus();
  return base::NotFoundError(path + ": there is no ledger; make one with submix deploy");
}

base::StatusOr<std::unique_ptr<base::FileLock>> LockForWriting(const std::string& path) {
  std::error_code error;
  // One lock a file, by whatever name it is reached.
  const std::string canonical = std::filesystem::weakly_canonical(path, error).string();
  auto lock = base::PosixFileSystem().Lock((error ? path : canonical) + ".lock");
  if (lock.ok() || lock.status().code() != base::StatusCode::kUnavailable) return lock;
  return base::UnavailableError(path +
                                ": another process has this ledger open for charging; stop it, or "
                                "open the ledger for reading only");
}

struct Reading {
  SqliteConnection connection;
  LedgerContents contents;
};

base::StatusOr<Reading> ReadBesideWriter(const SqliteLedgerOptions& options) {
  SUBMIX_RETURN_IF_ERROR(CheckExists(options.path));
  const auto anchor = Anchor::Read(options.anchor_path);
  if (!anchor.ok()) return AnchorError(anchor.status(), options);
  SUBMIX_ASSIGN_OR_RETURN(SqliteConnection connection,
                          SqliteConnection::Open(options.path, Mode::kReadOnly));
  SUBMIX_ASSIGN_OR_RETURN(LedgerContents contents,
                          ReadSnapshot(connection, options.fingerprint, &anchor.value()));
  return Reading{std::move(connection), std::move(contents)};
}

base::Status VerifyAgainstAnchor(const SqliteLedgerOptions& options) {
  SUBMIX_RETURN_IF_ERROR(ReadBesideWriter(options).status());
  return VerifyChain(options.path);
}

class SqliteWriter final : public SqliteLedger {
 public:
  struct Parts {
    SqliteLedgerOptions options;
    std::unique_ptr<base::FileLock> lock;
    SqliteConnection connection;
    TableWriter tables;
    std::unique_ptr<Anchor> anchor;
    LedgerContents contents;
  };
  explicit SqliteWriter(Parts parts)
      : options_(std::move(parts.options)),
        lineage_(base::ToHex(parts.contents.state.lineage)),
        lock_(std::move(parts.lock)),
        connection_(std::move(parts.connection)),
        tables_(std::move(parts.tables)),
        anchor_(std::move(parts.anchor)),
        contents_(std::move(parts.contents)) {}

  base::StatusOr<std::vector<Receipt>> Charge(std::span<const ChargeRequest> step) override {
    const std::lock_guard guard(mutex_);
    SUBMIX_RETURN_IF_ERROR(poison_);
    LedgerState after = contents_.state;
    SUBMIX_ASSIGN_OR_RETURN(const auto booked, BookStep(step, after.accounts));
    if (step.empty()) return std::vector<Receipt>();
    std::string payload = EncodeCharge(booked, after);
    SUBMIX_RETURN_IF_ERROR(MakeDurable(std::move(payload), std::move(after)));
    return ReceiptPress::Press(booked, contents_.head.records);
  }

  base::StatusOr<std::vector<Account>> Accounts() const override {
    const std::lock_guard guard(mutex_);
    SUBMIX_RETURN_IF_ERROR(poison_);
    return contents_.state.accounts;
  }

  base::StatusOr<Head> head() const override {
    const std::lock_guard guard(mutex_);
    SUBMIX_RETURN_IF_ERROR(poison_);
    return contents_.head;
  }

  base::Status Verify() const override {
    SqliteLedgerOptions options = options_;
    {
      const std::lock_guard guard(mutex_);
      options.fingerprint = contents_.state.fingerprint;
    }
    return VerifyAgainstAnchor(options);
  }

  base::Status Rebind(const base::Sha256Digest& new_fingerprint) override {
    const std::lock_guard guard(mutex_);
    SUBMIX_RETURN_IF_ERROR(poison_);
    LedgerState after = contents_.state;
    after.fingerprint = new_fingerprint;
    std::string payload = EncodeRebind(contents_.state.fingerprint, after);
    return MakeDurable(std::move(payload), std::move(after));
  }

  std::string lineage() const override { return lineage_; }

 private:
  // Ledger first, then anchor: a crash between leaves the anchor behind, which Open mends. Only
  // then does the new state exist for callers. Requires: mutex_ held, not poisoned.
  base::Status MakeDurable(std::string payload, LedgerState after) {
    const Record record = ChainRecord(contents_.head, std::move(payload));
    base::Status status = tables_.Commit(record, after);
    if (status.ok()) status = anchor_->Advance({record.number, record.hash});
    if (!status.ok()) {
      // Whether the record is durable is unknown now, and so is what is left.
      poison_ = base::Status(status.code(),
                             "the ledger refuses until it is opened anew, because a "
                             "charge could not be made durable: " +
                                 status.message());
      return poison_;
    }
    contents_ = {std::move(after), {record.number, record.hash}};
    return base::OkStatus();
  }

  const SqliteLedgerOptions options_;
  const std::string lineage_;
  const std::unique_ptr<base::FileLock> lock_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  SqliteConnection connection_;
  TableWriter tables_;
  const std::unique_ptr<Anchor> anchor_;
  LedgerContents contents_;
  base::Status poison_;
};

class SqliteReader final : public SqliteLedger {
 public:
  SqliteReader(SqliteLedgerOptions options, SqliteConnection connection, std::string lineage)
      : options_(std::move(options)),
        lineage_(std::move(lineage)),
        connection_(std::move(connection)) {}

  base::StatusOr<std::vector<Receipt>> Charge(std::span<const ChargeRequest>) override {
    return OpenForReadingOnly();
  }

  base::StatusOr<std::vector<Account>> Accounts() const override {
    SUBMIX_ASSIGN_OR_RETURN(LedgerContents contents, Read());
    return std::move(contents.state.accounts);
  }

  base::StatusOr<Head> head() const override {
    SUBMIX_ASSIGN_OR_RETURN(const LedgerContents contents, Read());
    return contents.head;
  }

  base::Status Verify() const override { return VerifyAgainstAnchor(options_); }

  base::Status Rebind(const base::Sha256Digest&) override { return OpenForReadingOnly(); }

  std::string lineage() const override { return lineage_; }

 private:
  base::Status OpenForReadingOnly() const {
    return base::FailedPreconditionError(options_.path + ": open for reading only");
  }

  base::StatusOr<LedgerContents> Read() const {
    const std::lock_guard guard(mutex_);
    return ReadSnapshot(connection_, options_.fingerprint, nullptr);
  }

  const SqliteLedgerOptions options_;
  const std::string lineage_;
  mutable std::mutex mutex_;
  mutable SqliteConnection connection_;  // guarded by mutex_
};

base::Status CheckNewState(const LedgerState& state) {
  constexpr std::size_t kMaxTextBytes = std::numeric_limits<std::uint16_t>::max();
  constexpr std::size_t kMaxAccounts = 1 << 20;
  if (state.accounts.empty() || state.accounts.size() > kMaxAccounts) {
    return base::InvalidArgumentError("a ledger has 1 to 1048576 accounts, not " +
                                      std::to_string(state.accounts.size()));
  }
  if (state.order_text.size() > kMaxTextBytes) {
    return base::InvalidArgumentError("the order's text is longer than 65535 bytes");
  }
  for (const Account& account : state.accounts) {
    if (account.name.size() > kMaxTextBytes) {
      return base::InvalidArgumentError("an account's name is longer than 65535 bytes");
    }
    if (!account.budget.is_payable() || !account.spent.is_payable()) {
      return base::InvalidArgumentError("account " + account.name +
                                        ": budget and spent must be finite amounts");
    }
  }
  return base::OkStatus();
}

base::Status WriteNewFile(const std::string& path, const LedgerState& state, const Record& first) {
  {
    SUBMIX_ASSIGN_OR_RETURN(SqliteConnection connection,
                            SqliteConnection::Open(path, Mode::kCreate));
    // What each part has left is the operator's alone. The files beside it take over its mode.
    std::error_code error;
    using std::filesystem::perms;
    std::filesystem::permissions(path, perms::owner_read | perms::owner_write, error);
    if (error) return base::InternalError(path + ": chmod failed: " + error.message());
    SUBMIX_RETURN_IF_ERROR(CreateTables(connection, state, first));
  }
  return base::OkStatus();
}

void RemoveLeftovers(const std::string& path) {
  for (const char* suffix : {"", "-journal"}) {
    (void)base::PosixFileSystem().RemoveAll(path + suffix);
  }
}

}  // namespace

base::Status SqliteLedger::Create(const SqliteLedgerOptions& options,
                                  const std::vector<Account>& parts,
                                  const std::string& order_text) {
  LedgerState state{{}, options.fingerprint, order_text, parts};
  SUBMIX_RETURN_IF_ERROR(CheckNewState(state));
  base::FillWithEntropy(std::as_writable_bytes(std::span(state.lineage)));
  const Record first = ChainRecord(Head(), EncodeCreate(state));

  base::FileSystem& files = base::PosixFileSystem();
  SUBMIX_ASSIGN_OR_RETURN(const auto lock, LockForWriting(options.path));
  if (files.Exists(options.path)) {
    return base::AlreadyExistsError(options.path +
                                    ": there is a ledger already; a budget is never "
                                    "started anew");
  }
  if (files.Exists(options.anchor_path)) {
    return base::AlreadyExistsError(
        options.anchor_path + ": the anchor of a ledger that is not at " + options.path +
        "; restore that ledger, or remove the anchor if it never answered anything");
  }
  // The ledger appears under its name as the last act: whoever finds it finds it whole.
  const std::string unfinished = options.path + ".new";
  RemoveLeftovers(unfinished);
  base::Status status = WriteNewFile(unfinished, state, first);
  if (status.ok()) {
    status = Anchor::Create(options.anchor_path, {state.lineage, {first.number, first.hash}});
    if (status.ok()) {
      status = files.Rename(unfinished, options.path);
      if (!status.ok()) (void)files.RemoveAll(options.anchor_path);
    }
  }
  if (!status.ok()) RemoveLeftovers(unfinished);
  return status;
}

base::StatusOr<std::unique_ptr<SqliteLedger>> SqliteLedger::Open(
    const SqliteLedgerOptions& options) {
  // Before the lock, which would leave its file where no ledger is.
  SUBMIX_RETURN_IF_ERROR(CheckExists(options.path));
  SUBMIX_ASSIGN_OR_RETURN(auto lock, LockForWriting(options.path));
  auto anchor = Anchor::Open(options.anchor_path);
  if (!anchor.ok()) return AnchorError(anchor.status(), options);
  SUBMIX_ASSIGN_OR_RETURN(SqliteConnection connection,
                          SqliteConnection::Open(options.path, Mode::kReadWrite));
  SUBMIX_ASSIGN_OR_RETURN(const int format, ReadKnownFormat(connection));
  SUBMIX_ASSIGN_OR_RETURN(LedgerContents contents,
                          ReadContents(connection, format, options.fingerprint));
  SUBMIX_RETURN_IF_ERROR(CheckAnchor(connection, contents, (*anchor)->position()));
  // Believed. From here on it is written.
  SUBMIX_RETURN_IF_ERROR(connection.Execute("PRAGMA journal_mode = WAL"));
  SUBMIX_RETURN_IF_ERROR(connection.Execute("PRAGMA synchronous = FULL"));
  if (format < kNewestFormat) {
    SUBMIX_RETURN_IF_ERROR(MigrateTables(connection));
    SUBMIX_ASSIGN_OR_RETURN(contents, ReadContents(connection, kNewestFormat, options.fingerprint));
  }
  if (contents.head.records != (*anchor)->position().head.records) {
    SUBMIX_RETURN_IF_ERROR((*anchor)->Advance(contents.head));
  }
  SUBMIX_ASSIGN_OR_RETURN(TableWriter tables, TableWriter::Prepare(connection));
  SqliteWriter::Parts parts{options,           std::move(lock),           std::move(connection),
                            std::move(tables), std::move(anchor).value(), std::move(contents)};
  return std::unique_ptr<SqliteLedger>(new SqliteWriter(std::move(parts)));
}

base::StatusOr<std::unique_ptr<SqliteLedger>> SqliteLedger::OpenReadOnly(
    const SqliteLedgerOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(Reading reading, ReadBesideWriter(options));
  return std::unique_ptr<SqliteLedger>(new SqliteReader(
      options, std::move(reading.connection), base::ToHex(reading.contents.state.lineage)));
}

base::Status SqliteLedger::RestoreAnchor(const SqliteLedgerOptions& options) {
  SUBMIX_RETURN_IF_ERROR(CheckExists(options.path));
  SUBMIX_ASSIGN_OR_RETURN(const auto lock, LockForWriting(options.path));
  if (Anchor::Read(options.anchor_path).ok()) {
    return base::AlreadyExistsError(options.anchor_path + ": the anchor is there, and whole");
  }
  SUBMIX_RETURN_IF_ERROR(VerifyChain(options.path));
  SUBMIX_ASSIGN_OR_RETURN(SqliteConnection connection,
                          SqliteConnection::Open(options.path, Mode::kReadOnly));
  SUBMIX_ASSIGN_OR_RETURN(const LedgerContents contents,
                          ReadSnapshot(connection, options.fingerprint, nullptr));
  SUBMIX_RETURN_IF_ERROR(base::PosixFileSystem().RemoveAll(options.anchor_path));
  return Anchor::Create(options.anchor_path, {contents.state.lineage, contents.head});
}

}  // namespace submix::ledger
