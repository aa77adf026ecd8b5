// SQLite behind RAII and Status: the only file of the room that knows its C interface.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "submix/base/file_system.h"
#include "submix/base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace submix::ledger {

// One prepared statement. One thread at a time; must not outlive its connection.
class SqliteStatement {
 public:
  // Parameters are numbered from 1. Bytes and text are copied.
  SqliteStatement& BindInt(int index, std::int64_t value);
  SqliteStatement& BindText(int index, std::string_view value);
  SqliteStatement& BindBytes(int index, std::string_view value);

  // True: a row is there to be read. False: done, and ready to be bound and run again.
  base::StatusOr<bool> Step();
  // Runs a statement that returns no rows and must change exactly one.
  base::Status ChangeOneRow();
  // Ends reading before the last row.
  void Reset();

  // Columns are numbered from 0. A value of another type is converted as SQLite does.
  std::int64_t ColumnInt(int index) const;
  std::string ColumnBytes(int index) const;

 private:
  friend class SqliteConnection;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  SqliteStatement(sqlite3_stmt* statement, std::string path);

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string path_;
};

// One connection. One thread at a time.
class SqliteConnection {
 public:
  enum class Mode { kCreate, kReadWrite, kReadOnly };

  // With kCreate the file, made if it is missing, is its owner's alone from now on; those beside it
  // take over its mode. Errors: kNotFound; kFailedPrecondition if the file may only be read and
  // `mode` wants to write. Damage shows at the first statement, not here.
  static base::StatusOr<SqliteConnection> Open(const std::string& path, Mode mode);

  const std::string& path() const { return path_; }

  // For one that writes a log ahead, once it has read: which files it has open. Errors: kNotFound,
  // kInternal.
  base::Status NoteFiles();
  // Whether the path still leads to these: into others nothing lasts. Errors: kDataLoss, the file
  // and `consequence`. Then closing leaves files as they are, since others may have their names by
  // now; and what only a log holds that was taken away is in the file itself. Requires: NoteFiles.
  base::Status CheckInPlace(const char* consequence);
  // Moves what is in the log into the file itself: after a failed sync what can be read need not be
  // on the disk, and would not get there by another sync. Errors: kUnavailable while others read.
  base::Status WriteAgain();

  // Errors of this and of statements: kResourceExhausted when the disk is full, kDataLoss for
  // damaged bytes, kUnavailable when another connection holds the lock for too long, kInternal.
  base::Status Execute(const char* sql);
  // What `body` does, in one transaction that writes: rolled back after an error, its own or the
  // body's. Whether a commit that failed became durable is unknown.
  base::Status InTransaction(const std::function<base::Status()>& body);
  // kDataLoss also if the file lacks what the statement names.
  base::StatusOr<SqliteStatement> Prepare(std::string_view sql);
  // The integer in the first column of the first row. Errors: as above; kDataLoss without a row.
  base::StatusOr<std::int64_t> QueryInt(std::string_view sql);

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  SqliteConnection(sqlite3* connection, std::string path);

  std::unique_ptr<sqlite3, Close> connection_;
  std::string path_;
  std::vector<std::pair<std::string, base::FileIdentity>> files_;  // noted: path, and which it is
};

}  // namespace submix::ledger
