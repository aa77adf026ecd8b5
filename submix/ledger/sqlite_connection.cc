#include "submix/ledger/sqlite_connection.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <sqlite3.h>
#include <sys/stat.h>

#include "submix/base/file_system.h"
#include "submix/base/json_object.h"
#include "submix/ledger/sqlite_shared_memory.h"

namespace submix::ledger {
namespace {

// How long a statement waits for another connection's lock.
constexpr int kBusyTimeoutMs = 5000;

bool IsDiskFull(int error_number) {
  return error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
}

// In words; it may quote bytes of the file.
std::string MessageOf(sqlite3* connection) { return base::Printable(sqlite3_errmsg(connection)); }

// The error of the call just made. Requires that errno was zero before it: SQLite does not always
// keep why a write failed.
base::Status ErrorOf(sqlite3* connection, const std::string& path) {
  const int error_number = errno;
  const std::string what = path + ": SQLite: " + MessageOf(connection);
  const int code = sqlite3_errcode(connection) & 0xff;
  const bool is_of_files = code == SQLITE_IOERR || code == SQLITE_CANTOPEN;
  if (code == SQLITE_FULL || (is_of_files && IsDiskFull(error_number))) {
    return base::ResourceExhaustedError(what + "; free some space on its disk");
  }
  switch (code) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
      return base::DataLossError(what + "; restore the newest copy of the file");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return base::UnavailableError(what + "; another program holds it, try again later");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return base::FailedPreconditionError(what + "; make the file and its folder writable");
    default:
      return base::InternalError(what);
  }
}

}  // namespace

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

SqliteStatement::SqliteStatement(sqlite3_stmt* statement, std::string path)
    : statement_(statement), path_(std::move(path)) {}

SqliteStatement& SqliteStatement::BindInt(int index, std::int64_t value) {
  const int result = sqlite3_bind_int64(statement_.get(), index, value);
  SUBMIX_CHECK(result == SQLITE_OK, "binding an integer failed");
  return *this;
}

SqliteStatement& SqliteStatement::BindText(int index, std::string_view value) {
  const int result = sqlite3_bind_text64(statement_.get(), index, value.data(), value.size(),
                                         SQLITE_TRANSIENT, SQLITE_UTF8);
  SUBMIX_CHECK(result == SQLITE_OK, "binding a text failed");
  return *this;
}

SqliteStatement& SqliteStatement::BindBytes(int index, std::string_view value) {
  const int result =
      sqlite3_bind_blob64(statement_.get(), index, value.data(), value.size(), SQLITE_TRANSIENT);
  SUBMIX_CHECK(result == SQLITE_OK, "binding bytes failed");
  return *this;
}

base::StatusOr<bool> SqliteStatement::Step() {
  errno = 0;
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) {
    Reset();
    return false;
  }
  base::Status error = ErrorOf(sqlite3_db_handle(statement_.get()), path_);
  Reset();
  return error;
}

base::Status SqliteStatement::ChangeOneRow() {
  SUBMIX_ASSIGN_OR_RETURN(const bool has_row, Step());
  SUBMIX_CHECK(!has_row, "a writing statement returned a row");
  const int changed = sqlite3_changes(sqlite3_db_handle(statement_.get()));
  if (changed == 1) return base::OkStatus();
  return base::DataLossError(path_ + ": a write met " + std::to_string(changed) +
                             " rows instead of one; restore the newest copy of the file");
}

void SqliteStatement::Reset() { sqlite3_reset(statement_.get()); }

std::int64_t SqliteStatement::ColumnInt(int index) const {
  return sqlite3_column_int64(statement_.get(), index);
}

std::string SqliteStatement::ColumnBytes(int index) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), index);
  const int count = sqlite3_column_bytes(statement_.get(), index);
  if (bytes == nullptr) return "";
  return std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(count));
}

void SqliteConnection::Close::operator()(sqlite3* connection) const {
  sqlite3_close_v2(connection);
}

SqliteConnection::SqliteConnection(sqlite3* connection, std::string path)
    : connection_(connection), path_(std::move(path)) {}

base::StatusOr<SqliteConnection> SqliteConnection::Open(const std::string& path, Mode mode) {
  if (mode != Mode::kCreate && !base::FileExists(path)) {
    return base::NotFoundError(path + ": there is no such file");
  }
  std::error_code unknown;
  if (base::FileExists(path) && !std::filesystem::is_regular_file(path, unknown)) {
    return base::DataLossError(path + ": not a regular file");
  }
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  if (mode == Mode::kReadOnly) flags |= SQLITE_OPEN_READONLY;
  if (mode == Mode::kReadWrite) flags |= SQLITE_OPEN_READWRITE;
  if (mode == Mode::kCreate) flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* raw = nullptr;
  errno = 0;
  const int result = sqlite3_open_v2(path.c_str(), &raw, flags, FileSystemWithoutHoles());
  if (raw == nullptr) return base::InternalError(path + ": SQLite could not start");
  SqliteConnection connection(raw, path);
  if (result != SQLITE_OK) return ErrorOf(raw, path);
  if (mode != Mode::kReadOnly && sqlite3_db_readonly(raw, "main") == 1) {
    return base::FailedPreconditionError(path + ": the file may only be read; make it writable");
  }
  if (mode == Mode::kCreate && ::chmod(path.c_str(), 0600) != 0) {
    return base::InternalError(path + ": chmod failed: " + std::strerror(errno));
  }
  sqlite3_busy_timeout(raw, kBusyTimeoutMs);
  // A damaged or planted schema must not run code of its own.
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  return connection;
}

base::Status SqliteConnection::NoteFiles() {
  for (const char* suffix : {"", "-wal", "-shm"}) {
    const std::string path = path_ + suffix;
    SUBMIX_ASSIGN_OR_RETURN(const base::FileIdentity identity, base::IdentityOf(path));
    files_.emplace_back(path, identity);
  }
  return base::OkStatus();
}

base::Status SqliteConnection::CheckInPlace(const char* consequence) {
  for (const auto& [path, identity] : files_) {
    const auto found = base::IdentityOf(path);
    if (found.ok() && *found == identity) continue;
    if (!found.ok() && found.status().code() != base::StatusCode::kNotFound) return found.status();
    if (path != path_) (void)WriteAgain();
    sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    return base::DataLossError(path + ": " + consequence);
  }
  return base::OkStatus();
}

base::Status SqliteConnection::WriteAgain() {
  SUBMIX_ASSIGN_OR_RETURN(const std::int64_t is_busy, QueryInt("PRAGMA wal_checkpoint(TRUNCATE)"));
  if (is_busy == 0) return base::OkStatus();
  return base::UnavailableError(path_ + ": another program reads it; try again later");
}

base::Status SqliteConnection::Execute(const char* sql) {
  errno = 0;
  const int result = sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr);
  return result == SQLITE_OK ? base::OkStatus() : ErrorOf(connection_.get(), path_);
}

base::Status SqliteConnection::InTransaction(const std::function<base::Status()>& body) {
  SUBMIX_RETURN_IF_ERROR(Execute("BEGIN IMMEDIATE"));
  base::Status status = body();
  if (status.ok()) status = Execute("COMMIT");
  // SQLite may have rolled back by itself: then this fails, which is fine.
  if (!status.ok()) (void)Execute("ROLLBACK");
  return status;
}

base::StatusOr<SqliteStatement> SqliteConnection::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  errno = 0;
  const int result = sqlite3_prepare_v3(connection_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (result == SQLITE_OK) return SqliteStatement(statement, path_);
  // Our statements are fixed, so an error in one means that the file lacks a table or a column.
  if ((result & 0xff) == SQLITE_ERROR) {
    return base::DataLossError(
        path_ + ": not a Submix ledger, or damaged (SQLite: " + MessageOf(connection_.get()) +
        "); restore the newest copy of the file");
  }
  return ErrorOf(connection_.get(), path_);
}

base::StatusOr<std::int64_t> SqliteConnection::QueryInt(std::string_view sql) {
  SUBMIX_ASSIGN_OR_RETURN(SqliteStatement statement, Prepare(sql));
  SUBMIX_ASSIGN_OR_RETURN(const bool has_row, statement.Step());
  if (!has_row) return base::DataLossError(path_ + ": damaged: a query found no row");
  return statement.ColumnInt(0);
}

}  // namespace submix::ledger
