// The embedded ledger: one SQLite file (WAL, full sync), one writer, and an anchor file outside it.
#include <array>
#include <filesystem>
#include <mutex>
#include <optional>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/ledger/anchor.h"
#include "submix/ledger/ledger_store.h"
#include "submix/ledger/sqlite_connection.h"
#include "submix/ledger/sqlite_tables.h"

namespace submix::ledger {
namespace {

using Mode = SqliteConnection::Mode;

base::Status CheckExists(const DurableLedgerOptions& options) {
  const std::string& path = options.location;
  if (base::FileExists(path)) return base::OkStatus();
  if (base::FileExists(options.anchor_path)) {
    return base::NotFoundError(path +
                               ": the ledger is missing, its anchor is not: what was spent stays "
                               "spent; put its newest copy back (docs/operating.md, Restore)");
  }
  return base::NotFoundError(path + ": there is no ledger; make one with submix deploy");
}

base::StatusOr<std::unique_ptr<base::FileLock>> LockForWriting(const std::string& path) {
  std::error_code error;
  // One lock a file, by whatever name it is reached.
  const std::string canonical = std::filesystem::weakly_canonical(path, error).string();
  auto lock = base::LockFile((error ? path : canonical) + ".lock");
  if (lock.ok()) return lock;
  if (lock.status().code() == base::StatusCode::kInternal) {
    return base::FailedPreconditionError(lock.status().message() + "; make its folder writable");
  }
  if (lock.status().code() != base::StatusCode::kUnavailable) return lock;
  return base::UnavailableError(path +
                                ": another process has this ledger open for charging; stop it "
                                "first");
}

base::StatusOr<LedgerContents> ReadBeside(SqliteConnection& connection,
                                          const base::Sha256Digest& fingerprint,
                                          const AnchorPosition& anchor) {
  SUBMIX_ASSIGN_OR_RETURN(StoredLedger stored, ReadSnapshot(connection, anchor.head.records));
  return CheckStored(std::move(stored), fingerprint, &anchor, connection.path());
}

base::Status VerifyAgainstAnchor(const DurableLedgerOptions& options) {
  SUBMIX_RETURN_IF_ERROR(CheckExists(options));
  SUBMIX_ASSIGN_OR_RETURN(const AnchorPosition anchor, AnchorOf(options, options.location));
  SUBMIX_ASSIGN_OR_RETURN(StoredLedger stored, ReadVerified(options.location, anchor.head.records));
  return CheckStored(std::move(stored), options.fingerprint, &anchor, options.location).status();
}

// Of a ledger with one writer: nobody else can have moved its anchor further.
base::Status AdvanceAlone(const std::string& anchor_path, const AnchorPosition& position) {
  SUBMIX_ASSIGN_OR_RETURN(const AnchorPosition found, AdvanceAnchor(anchor_path, position));
  return found.head.records == position.head.records ? base::OkStatus()
                                                     : OtherBranchError(anchor_path);
}

// A file open for charging. Destroyed in reverse: statements end before their connection.
struct OpenFile {
  SqliteConnection connection;
  TableWriter tables;
};

// Requires: what the connection reads is believed. From here on it is written.
base::StatusOr<OpenFile> StartWriting(SqliteConnection connection) {
  SUBMIX_RETURN_IF_ERROR(connection.Execute("PRAGMA journal_mode = WAL"));
  SUBMIX_RETURN_IF_ERROR(connection.Execute("PRAGMA synchronous = FULL"));
  SUBMIX_ASSIGN_OR_RETURN(TableWriter tables, TableWriter::Prepare(connection));
  // Reading makes the log, where the file was complete in itself.
  SUBMIX_RETURN_IF_ERROR(ReadFormat(connection).status());
  SUBMIX_RETURN_IF_ERROR(connection.NoteFiles());
  return OpenFile{std::move(connection), std::move(tables)};
}

base::Status CheckInPlace(OpenFile& file) {
  return file.connection.CheckInPlace(
      "deleted or replaced while the ledger was open, so that charges would be lost; put it back, "
      "or restore the ledger's newest copy (docs/operating.md, Restore)");
}

class SqliteWriter final : public DurableLedger {
 public:
  SqliteWriter(DurableLedgerOptions options, std::unique_ptr<base::FileLock> lock, OpenFile file,
               LedgerContents contents)
      : DurableLedger(base::ToHex(contents.state.lineage)),
        options_(std::move(options)),
        lock_(std::move(lock)),
        file_(std::move(file)),
        contents_(std::move(contents)) {}

  ~SqliteWriter() override {
    // Closing must not touch files that others put in the place of these.
    if (file_) (void)CheckInPlace(*file_);
  }

  base::Status Verify() const override {
    DurableLedgerOptions options = options_;
    {
      const std::lock_guard guard(mutex_);
      options.fingerprint = contents_.state.fingerprint;
    }
    return VerifyAgainstAnchor(options);
  }

  base::Status CopyToPostgres(const std::string& location) override {
    SUBMIX_RETURN_IF_ERROR(Verify());
    const std::lock_guard guard(mutex_);
    SUBMIX_RETURN_IF_ERROR(CheckNoDoubt());
    const auto for_each_record = [&](const RecordVisitor& visit) {
      return ForEachRecord(file_->connection, visit);
    };
    SUBMIX_RETURN_IF_ERROR(CopyIntoPostgres(location, contents_.state, for_each_record));
    return file_->connection.Execute("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  base::Status Recover() override {
    const std::lock_guard guard(mutex_);
    if (!doubt_) return base::OkStatus();
    SUBMIX_RETURN_IF_ERROR(RecoverFile());
    contents_ = {std::move(doubt_->after), {doubt_->record.number, doubt_->record.hash}};
    doubt_.reset();
    was_taken_away_ = false;
    return base::OkStatus();
  }

 protected:
  base::StatusOr<std::int64_t> AppendRecord(const Change& change) override {
    const std::lock_guard guard(mutex_);
    SUBMIX_RETURN_IF_ERROR(CheckNoDoubt());
    LedgerState after = contents_.state;
    SUBMIX_ASSIGN_OR_RETURN(std::string payload, change(after));
    Record record = ChainRecord(contents_.head, std::move(payload));
    base::Status status = MakeDurable(record, after);
    if (!status.ok()) {
      doubt_ = Doubt{std::move(record), std::move(after), NotDurableError(status)};
      return doubt_->error;
    }
    contents_ = {std::move(after), {record.number, record.hash}};
    return record.number;
  }

  base::StatusOr<LedgerContents> Read() const override {
    const std::lock_guard guard(mutex_);
    SUBMIX_RETURN_IF_ERROR(CheckNoDoubt());
    return contents_;
  }

 private:
  // A record of which nobody knows whether it is durable, and what is left after it.
  struct Doubt {
    Record record;
    LedgerState after;
    base::Status error;
  };

  // Requires, as all below: mutex_ held.
  base::Status CheckNoDoubt() const { return doubt_ ? doubt_->error : base::OkStatus(); }

  // Ledger first, then anchor: a crash between leaves the anchor behind, which Open mends.
  // Requires: no doubt.
  base::Status MakeDurable(const Record& record, const LedgerState& after) {
    SUBMIX_RETURN_IF_ERROR(file_->tables.Commit(record, after, file_->connection));
    const base::Status in_place = CheckInPlace(*file_);
    was_taken_away_ = !in_place.ok();
    SUBMIX_RETURN_IF_ERROR(in_place);
    return AdvanceAlone(options_.anchor_path, {after.lineage, {record.number, record.hash}});
  }

  // Opens the file anew and makes the record in doubt durable, unless it is. Requires: doubt.
  base::Status RecoverFile() {
    const Record& record = doubt_->record;
    file_.reset();
    SUBMIX_RETURN_IF_ERROR(CheckExists(options_));
    SUBMIX_ASSIGN_OR_RETURN(SqliteConnection connection,
                            SqliteConnection::Open(options_.location, Mode::kReadWrite));
    const AnchorPosition anchor{contents_.state.lineage, contents_.head};
    // A file and a log of different times may fit at their ends and nowhere else.
    SUBMIX_ASSIGN_OR_RETURN(StoredLedger stored,
                            was_taken_away_ ? ReadVerified(options_.location, anchor.head.records)
                                            : ReadSnapshot(connection, anchor.head.records));
    const bool is_there = stored.newest.hash == record.hash;
    if (!is_there && stored.newest.hash != contents_.head.hash) {
      return base::FailedPreconditionError(options_.location +
                                           ": changed by another program; restore what it was");
    }
    const LedgerState& expected = is_there ? doubt_->after : contents_.state;
    SUBMIX_RETURN_IF_ERROR(
        CheckStored(std::move(stored), expected.fingerprint, &anchor, options_.location).status());
    SUBMIX_ASSIGN_OR_RETURN(file_, StartWriting(std::move(connection)));
    SUBMIX_RETURN_IF_ERROR(file_->connection.WriteAgain());
    if (!is_there) {
      SUBMIX_RETURN_IF_ERROR(file_->tables.Commit(record, doubt_->after, file_->connection));
    }
    return AdvanceAlone(options_.anchor_path, {anchor.lineage, {record.number, record.hash}});
  }

  const DurableLedgerOptions options_;
  const std::unique_ptr<base::FileLock> lock_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::optional<OpenFile> file_;  // there, unless in doubt
  LedgerContents contents_;       // as anchored
  std::optional<Doubt> doubt_;
  bool was_taken_away_ = false;  // in doubt, since the files were not those of the path
};

class SqliteReader final : public DurableLedger {
 public:
  SqliteReader(DurableLedgerOptions options, const AnchorPosition& anchor,
               SqliteConnection connection)
      : DurableLedger(base::ToHex(anchor.lineage)),
        options_(std::move(options)),
        anchor_(anchor),
        connection_(std::move(connection)) {}

  base::Status Verify() const override { return VerifyAgainstAnchor(options_); }

 protected:
  base::StatusOr<std::int64_t> AppendRecord(const Change&) override {
    return OpenForReadingError(options_.location);
  }

  base::StatusOr<LedgerContents> Read() const override {
    const std::lock_guard guard(mutex_);
    return ReadBeside(connection_, options_.fingerprint, anchor_);
  }

 private:
  const DurableLedgerOptions options_;
  const AnchorPosition anchor_;
  mutable std::mutex mutex_;
  mutable SqliteConnection connection_;  // guarded by mutex_
};

// What each part has left is the operator's alone, and so is a file that kCreate makes.
base::Status WriteNewFile(const std::string& path, const LedgerState& state, const Record& first) {
  SUBMIX_ASSIGN_OR_RETURN(SqliteConnection connection, SqliteConnection::Open(path, Mode::kCreate));
  return CreateTables(connection, state, first);
}

void RemoveLeftovers(const std::string& path) {
  for (const char* suffix : {"", "-journal"}) {
    (void)base::RemoveAll(path + suffix);
  }
}

base::Status Create(const DurableLedgerOptions& options, const LedgerState& state,
                    const Record& first) {
  SUBMIX_ASSIGN_OR_RETURN(const auto lock, LockForWriting(options.location));
  if (base::FileExists(options.location)) {
    return base::AlreadyExistsError(options.location +
                                    ": there is a ledger already; a budget is never "
                                    "started anew");
  }
  // The ledger appears under its name as the last act: whoever finds it finds it whole.
  const std::string unfinished = options.location + ".new";
  RemoveLeftovers(unfinished);
  base::Status status = WriteNewFile(unfinished, state, first);
  if (status.ok()) {
    status = CreateAnchor(options.anchor_path, {state.lineage, {first.number, first.hash}});
    if (status.ok()) {
      status = base::Rename(unfinished, options.location);
      if (!status.ok()) (void)base::RemoveAll(options.anchor_path);
    }
  }
  if (!status.ok()) RemoveLeftovers(unfinished);
  return status;
}

base::StatusOr<std::unique_ptr<DurableLedger>> Open(const DurableLedgerOptions& options) {
  const std::string& path = options.location;
  // Before the lock, which would leave its file where no ledger is.
  SUBMIX_RETURN_IF_ERROR(CheckExists(options));
  SUBMIX_ASSIGN_OR_RETURN(auto lock, LockForWriting(path));
  SUBMIX_ASSIGN_OR_RETURN(const AnchorPosition anchor, AnchorOf(options, path));
  // It is there already: whether it can be written is known before the ledger is touched.
  SUBMIX_RETURN_IF_ERROR(AdvanceAnchor(options.anchor_path, anchor).status());
  SUBMIX_ASSIGN_OR_RETURN(SqliteConnection connection,
                          SqliteConnection::Open(path, Mode::kReadWrite));
  SUBMIX_ASSIGN_OR_RETURN(const int format, ReadFormat(connection));
  SUBMIX_RETURN_IF_ERROR(CheckKnownFormat(format, path));
  SUBMIX_ASSIGN_OR_RETURN(StoredLedger stored, ReadStored(connection, format, anchor.head.records));
  SUBMIX_ASSIGN_OR_RETURN(LedgerContents contents,
                          CheckStored(std::move(stored), options.fingerprint, &anchor, path));
  SUBMIX_ASSIGN_OR_RETURN(OpenFile file, StartWriting(std::move(connection)));
  if (format < kNewestFormat) {
    SUBMIX_RETURN_IF_ERROR(MigrateTables(file.connection));
    SUBMIX_ASSIGN_OR_RETURN(contents, ReadBeside(file.connection, options.fingerprint, anchor));
  }
  SUBMIX_RETURN_IF_ERROR(AdvanceAlone(options.anchor_path, {anchor.lineage, contents.head}));
  return std::unique_ptr<DurableLedger>(
      new SqliteWriter(options, std::move(lock), std::move(file), std::move(contents)));
}

base::StatusOr<std::unique_ptr<DurableLedger>> OpenReadOnly(const DurableLedgerOptions& options) {
  SUBMIX_RETURN_IF_ERROR(CheckExists(options));
  SUBMIX_ASSIGN_OR_RETURN(const AnchorPosition anchor, AnchorOf(options, options.location));
  SUBMIX_ASSIGN_OR_RETURN(SqliteConnection connection,
                          SqliteConnection::Open(options.location, Mode::kReadOnly));
  SUBMIX_RETURN_IF_ERROR(ReadBeside(connection, options.fingerprint, anchor).status());
  return std::unique_ptr<DurableLedger>(new SqliteReader(options, anchor, std::move(connection)));
}

base::StatusOr<LedgerContents> ReadWithoutAnchor(const DurableLedgerOptions& options) {
  SUBMIX_RETURN_IF_ERROR(CheckExists(options));
  SUBMIX_ASSIGN_OR_RETURN(const auto lock, LockForWriting(options.location));
  SUBMIX_ASSIGN_OR_RETURN(StoredLedger stored, ReadVerified(options.location, 0));
  return CheckStored(std::move(stored), options.fingerprint, nullptr, options.location);
}

}  // namespace

const LedgerStore& SqliteStore() {
  static constexpr LedgerStore kStore{Create, Open, OpenReadOnly, ReadWithoutAnchor};
  return kStore;
}

}  // namespace submix::ledger
