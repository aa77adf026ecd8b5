#include "submix/ledger/ledger_checks.h"

#include <string>

#include "submix/ledger/ledger_tables.h"

namespace submix::ledger {
namespace {

base::Status CheckRecord(const Record& record, const std::string& path) {
  if (record.hash == RecordHash(record.previous, record.number, record.payload)) {
    return base::OkStatus();
  }
  return base::DataLossError(path + ": damaged: the hash of record " +
                             std::to_string(record.number) +
                             " does not match its bytes; restore the newest copy of the file");
}

// A reader's transaction: what is read in it is one committed state.
class Snapshot {
 public:
  explicit Snapshot(SqliteConnection& connection) : connection_(connection) {}
  ~Snapshot() {
    if (begun_) (void)connection_.Execute("COMMIT");
  }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  base::Status Begin() {
    base::Status status = connection_.Execute("BEGIN");
    begun_ = status.ok();
    return status;
  }

 private:
  SqliteConnection& connection_;
  bool begun_ = false;
};

base::Status CheckNewestFormat(SqliteConnection& connection) {
  SUBMIX_ASSIGN_OR_RETURN(const int format, ReadKnownFormat(connection));
  if (format == kNewestFormat) return base::OkStatus();
  return base::FailedPreconditionError(connection.path() + ": an older format (" +
                                       std::to_string(format) +
                                       "); open it once for charging, which migrates it");
}

}  // namespace

base::StatusOr<int> ReadKnownFormat(SqliteConnection& connection) {
  SUBMIX_ASSIGN_OR_RETURN(const int format, ReadFormat(connection));
  if (format >= kOldestFormat && format <= kNewestFormat) return format;
  if (format < kOldestFormat) {
    return base::DataLossError(connection.path() + ": damaged: format " + std::to_string(format));
  }
  return base::FailedPreconditionError(connection.path() + ": written by a newer Submix (format " +
                                       std::to_string(format) + ", this one reads up to " +
                                       std::to_string(kNewestFormat) + "); upgrade Submix");
}

base::StatusOr<LedgerContents> ReadContents(SqliteConnection& connection, int format,
                                            const base::Sha256Digest& fingerprint) {
  const std::string& path = connection.path();
  LedgerContents contents;
  SUBMIX_ASSIGN_OR_RETURN(contents.state, ReadState(connection, format));
  if (contents.state.fingerprint != fingerprint) {
    return base::FailedPreconditionError(
        path + ": this ledger belongs to another deployment (fingerprint " +
        base::ToHex(contents.state.fingerprint) + ", expected " + base::ToHex(fingerprint) +
        "); open the deployment that it was made for");
  }
  SUBMIX_ASSIGN_OR_RETURN(const Record newest, ReadNewestRecord(connection));
  SUBMIX_RETURN_IF_ERROR(CheckRecord(newest, path));
  contents.head = {newest.number, newest.hash};
  // Format 1 has no state digests: its chain is replayed when it is migrated.
  if (format >= 2 && StateDigestIn(newest.payload) != StateDigest(contents.state)) {
    return base::DataLossError(path +
                               ": damaged: the accounts are not those of the newest record; "
                               "restore the newest copy of the file");
  }
  return contents;
}

base::Status CheckAnchor(SqliteConnection& connection, const LedgerContents& contents,
                         const AnchorPosition& anchor) {
  const std::string& path = connection.path();
  if (anchor.lineage != contents.state.lineage) {
    return base::FailedPreconditionError(path + ": its anchor belongs to another ledger (lineage " +
                                         base::ToHex(anchor.lineage) + ", expected " +
                                         base::ToHex(contents.state.lineage) +
                                         "); give the anchor that was made with this ledger");
  }
  if (contents.head.records < anchor.head.records) {
    return base::DataLossError(path + ": an older copy of the ledger (it holds " +
                               std::to_string(contents.head.records) +
                               " records, the anchor has seen " +
                               std::to_string(anchor.head.records) + "); restore the newest copy");
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto record, ReadRecord(connection, anchor.head.records));
  if (record && record->hash == anchor.head.hash) return CheckRecord(*record, path);
  return base::DataLossError(path + ": record " + std::to_string(anchor.head.records) +
                             " is not the one that the anchor has seen: an older copy of the "
                             "ledger was charged, or it is damaged; restore the newest copy");
}

base::Status AnchorError(const base::Status& status, const SqliteLedgerOptions& options) {
  if (status.code() != base::StatusCode::kNotFound) return status;
  return base::DataLossError(
      options.anchor_path + ": the ledger's anchor is missing, so nobody can tell whether " +
      options.path + " is its newest copy; restore the newest copies of both");
}

base::StatusOr<LedgerContents> ReadSnapshot(SqliteConnection& connection,
                                            const base::Sha256Digest& fingerprint,
                                            const AnchorPosition* anchor) {
  Snapshot snapshot(connection);
  SUBMIX_RETURN_IF_ERROR(snapshot.Begin());
  SUBMIX_RETURN_IF_ERROR(CheckNewestFormat(connection));
  SUBMIX_ASSIGN_OR_RETURN(LedgerContents contents,
                          ReadContents(connection, kNewestFormat, fingerprint));
  if (anchor != nullptr) SUBMIX_RETURN_IF_ERROR(CheckAnchor(connection, contents, *anchor));
  return contents;
}

base::Status VerifyChain(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(SqliteConnection connection,
                          SqliteConnection::Open(path, SqliteConnection::Mode::kReadOnly));
  Snapshot snapshot(connection);
  SUBMIX_RETURN_IF_ERROR(snapshot.Begin());
  SUBMIX_RETURN_IF_ERROR(CheckNewestFormat(connection));
  SUBMIX_ASSIGN_OR_RETURN(const LedgerState state, ReadState(connection));
  SUBMIX_ASSIGN_OR_RETURN(const ChainReplay replay, ReplayRecords(connection));
  return CheckSameState(state, replay.state(), path);
}

}  // namespace submix::ledger
