#include "submix/engine/key_usage.h"

#include <mutex>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/ledger/sqlite_connection.h"

namespace submix::engine {
namespace {

using base::Status;
using base::StatusOr;
using ledger::SqliteConnection;
using ledger::SqliteStatement;

constexpr std::int64_t kUsageFormat = 1;
constexpr char kSetFormat[] = "PRAGMA user_version = 1";
constexpr char kTakenAway[] =
    "deleted or replaced while it was open, so that quotas would start anew; put it back, or "
    "restart the server, which saves what it has counted";
constexpr int kUsageFileMode = 0600;

std::string PathIn(const std::string& deployment_directory) {
  return base::JoinPath(deployment_directory, "usage.sqlite");
}

// 0: an empty file, which other programs leave where there was none; nothing was counted in it.
StatusOr<std::int64_t> FormatOf(SqliteConnection& connection) {
  SUBMIX_ASSIGN_OR_RETURN(const std::int64_t format, connection.QueryInt("PRAGMA user_version"));
  SUBMIX_RETURN_IF_ERROR(base::CheckNotNewer(connection.path(), format, kUsageFormat));
  return format;
}

// Ok if the tables are there already.
Status MakeTables(SqliteConnection& connection) {
  SUBMIX_RETURN_IF_ERROR(connection.Execute("PRAGMA journal_mode = WAL"));
  SUBMIX_RETURN_IF_ERROR(connection.Execute("PRAGMA synchronous = FULL"));
  return connection.Execute(
      "BEGIN IMMEDIATE;"
      "CREATE TABLE IF NOT EXISTS usage (key TEXT PRIMARY KEY, tokens INTEGER NOT NULL,"
      " requests INTEGER NOT NULL) STRICT;"
      "PRAGMA user_version = 1;"
      "COMMIT");
}

// One code for all reasons: none of them is a quota's.
Status NotWrittenError(const Status& status) {
  return status.ok() ? status : base::UnavailableError(status.message());
}

Status CheckQuota(const char* what, std::int64_t after, const std::optional<std::int64_t>& quota) {
  if (!quota || after <= *quota) return base::OkStatus();
  return base::FailedPreconditionError("the quota of " + std::to_string(*quota) + " " + what +
                                       " of this API key does not allow this request");
}

// Destroyed in reverse: statements end before their connection.
struct OpenFile {
  SqliteConnection connection;
  SqliteStatement find;
  SqliteStatement set;
  base::FileIdentity identity;
};

StatusOr<OpenFile> OpenUsage(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(SqliteConnection connection,
                          SqliteConnection::Open(path, SqliteConnection::Mode::kCreate));
  SUBMIX_RETURN_IF_ERROR(FormatOf(connection).status());
  SUBMIX_RETURN_IF_ERROR(MakeTables(connection));
  SUBMIX_RETURN_IF_ERROR(connection.NoteFiles());
  SUBMIX_ASSIGN_OR_RETURN(SqliteStatement find,
                          connection.Prepare("SELECT tokens, requests FROM usage WHERE key = ?1"));
  SUBMIX_ASSIGN_OR_RETURN(SqliteStatement set,
                          connection.Prepare("REPLACE INTO usage VALUES (?1, ?2, ?3)"));
  SUBMIX_ASSIGN_OR_RETURN(const base::FileIdentity identity, base::IdentityOf(path));
  return OpenFile{std::move(connection), std::move(find), std::move(set), identity};
}

class SqliteKeyUsage final : public KeyUsage {
 public:
  explicit SqliteKeyUsage(OpenFile file) : file_(std::move(file)) {}
  // What cannot be written stays counted.
  ~SqliteKeyUsage() override {
    (void)SqliteKeyUsage::Write();
    if (is_taken_away_ && !IsBack()) (void)Save();
  }

  Status Reserve(const std::string& key, const KeyQuotas& quotas, KeyUse use) override {
    Status quota;
    const Status status = InTransaction([&]() -> Status {
      SUBMIX_ASSIGN_OR_RETURN(KeyUse sum, Find(key));
      sum += use;
      quota = CheckQuota("tokens", sum.tokens, quotas.tokens);
      if (quota.ok()) quota = CheckQuota("requests", sum.requests, quotas.requests);
      SUBMIX_RETURN_IF_ERROR(quota);
      return Set(key, sum);
    });
    return quota.ok() ? NotWrittenError(status) : quota;
  }

  void GiveBack(const std::string& key, KeyUse unused) override {
    if (unused == KeyUse()) return;
    const std::lock_guard guard(pending_mutex_);
    pending_[key] += unused;
  }

  Status Write() override {
    return NotWrittenError(InTransaction([&] { return file_.connection.Execute(kSetFormat); }));
  }

 private:
  // Writes what is to be given back, then does `body`; if that fails, nothing is written. After a
  // failed commit nobody knows what was: to be sure, nothing of it is given back again.
  template <typename Body>
  Status InTransaction(const Body& body) {
    const std::lock_guard writing(write_mutex_);
    if (is_taken_away_) SUBMIX_RETURN_IF_ERROR(Reopen());
    SUBMIX_RETURN_IF_ERROR(file_.connection.Execute("BEGIN IMMEDIATE"));
    std::map<std::string, KeyUse> pending;
    {
      const std::lock_guard guard(pending_mutex_);
      pending.swap(pending_);
    }
    Status status = WriteBack(pending);
    if (status.ok()) status = body();
    if (status.ok()) {
      status = file_.connection.Execute("COMMIT");
      if (!status.ok()) (void)file_.connection.Execute("ROLLBACK");
      const Status in_place = file_.connection.CheckInPlace(kTakenAway);
      is_taken_away_ = !in_place.ok();
      return status.ok() ? in_place : status;
    }
    (void)file_.connection.Execute("ROLLBACK");
    for (const auto& [key, unused] : pending) GiveBack(key, unused);
    return status;
  }

  // Below, write_mutex_ is held.

  bool IsBack() const {
    const auto found = base::IdentityOf(file_.connection.path());
    return found.ok() && *found == file_.identity;
  }

  // The same file may have another log by now.
  Status Reopen() {
    const std::string path = file_.connection.path();
    if (!IsBack()) return base::DataLossError(path + ": " + kTakenAway);
    SUBMIX_ASSIGN_OR_RETURN(file_, OpenUsage(path));
    is_taken_away_ = false;
    return base::OkStatus();
  }

  // All that was counted, in the place of what was taken away.
  Status Save() {
    const std::string path = file_.connection.path();
    const std::string copy = path + ".saved";
    SUBMIX_RETURN_IF_ERROR(base::RemoveAll(copy));
    SUBMIX_ASSIGN_OR_RETURN(SqliteStatement save, file_.connection.Prepare("VACUUM INTO ?1"));
    SUBMIX_RETURN_IF_ERROR(save.BindText(1, copy).Step().status());
    SUBMIX_ASSIGN_OR_RETURN(const std::string bytes, base::ReadFile(copy));
    // A log of another file would be replayed into this one.
    for (const char* suffix : {"-wal", "-shm", ".saved"}) {
      SUBMIX_RETURN_IF_ERROR(base::RemoveAll(path + suffix));
    }
    return base::WriteFile(path, bytes, kUsageFileMode);
  }

  Status WriteBack(const std::map<std::string, KeyUse>& pending) {
    for (const auto& [key, unused] : pending) {
      SUBMIX_ASSIGN_OR_RETURN(KeyUse use, Find(key));
      use += {-unused.tokens, -unused.requests};
      SUBMIX_RETURN_IF_ERROR(Set(key, use));
    }
    return base::OkStatus();
  }

  StatusOr<KeyUse> Find(const std::string& key) {
    SqliteStatement& find = file_.find;
    find.BindText(1, key);
    SUBMIX_ASSIGN_OR_RETURN(const bool has_row, find.Step());
    if (!has_row) return KeyUse();
    const KeyUse use{find.ColumnInt(0), find.ColumnInt(1)};
    find.Reset();
    return use;
  }

  Status Set(const std::string& key, const KeyUse& use) {
    file_.set.BindText(1, key).BindInt(2, use.tokens).BindInt(3, use.requests);
    return file_.set.ChangeOneRow();
  }

  std::mutex write_mutex_;
  // Guarded by write_mutex_:
  OpenFile file_;
  bool is_taken_away_ = false;  // nothing is counted until it is back

  std::mutex pending_mutex_;               // taken last, and never held while a file is written
  std::map<std::string, KeyUse> pending_;  // to be given back
};

}  // namespace

StatusOr<std::unique_ptr<KeyUsage>> KeyUsage::Open(const std::string& deployment_directory) {
  SUBMIX_ASSIGN_OR_RETURN(OpenFile file, OpenUsage(PathIn(deployment_directory)));
  return std::unique_ptr<KeyUsage>(std::make_unique<SqliteKeyUsage>(std::move(file)));
}

StatusOr<std::map<std::string, KeyUse>> KeyUsage::Read(const std::string& deployment_directory) {
  std::map<std::string, KeyUse> uses;
  const std::string path = PathIn(deployment_directory);
  if (!base::FileExists(path)) return uses;
  SUBMIX_ASSIGN_OR_RETURN(SqliteConnection connection,
                          SqliteConnection::Open(path, SqliteConnection::Mode::kReadOnly));
  SUBMIX_ASSIGN_OR_RETURN(const std::int64_t format, FormatOf(connection));
  if (format == 0) return uses;
  SUBMIX_ASSIGN_OR_RETURN(SqliteStatement rows,
                          connection.Prepare("SELECT key, tokens, requests FROM usage"));
  for (;;) {
    SUBMIX_ASSIGN_OR_RETURN(const bool has_row, rows.Step());
    if (!has_row) return uses;
    uses[rows.ColumnBytes(0)] = {rows.ColumnInt(1), rows.ColumnInt(2)};
  }
}

}  // namespace submix::engine
