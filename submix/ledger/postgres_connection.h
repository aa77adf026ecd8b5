// libpq behind RAII and Status: the only file of the room that knows its C interface.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/status.h"

struct pg_conn;
struct pg_result;

namespace submix::ledger {

// What one statement gave. Rows and columns are numbered from 0.
class PostgresResult {
 public:
  // Rows returned or written.
  std::int64_t rows() const;
  // Zero, or nothing, for NULL.
  std::int64_t Int(std::int64_t row, int column) const;
  std::string Text(std::int64_t row, int column) const;
  std::string Bytes(std::int64_t row, int column) const;  // of a bytea

 private:
  friend class PostgresConnection;
  struct Clear {
    void operator()(pg_result* result) const;
  };
  explicit PostgresResult(pg_result* result) : result_(result) {}

  std::unique_ptr<pg_result, Clear> result_;
};

// One connection. One thread at a time. After an error its transaction is over, and so is its use:
// destroy it, and the server rolls back what was not committed.
//
// No call waits for ever, whatever has become of the server: the location's connect_timeout, in
// seconds (5 without; libpq takes 1 for 2 while connecting), is how long connecting to one address
// may take, and afterwards the answer to one call. Names of hosts are looked up by the system, in
// its own time.
class PostgresConnection {
 public:
  // The database in messages: host and name, nothing that might be secret. Errors:
  // kInvalidArgument if libpq cannot read the location, if it would wait for ever, or if it holds a
  // password: it would end up in files, process lists and backups.
  static base::StatusOr<std::string> NameOf(const std::string& location);

  // Errors: NameOf's; kUnavailable if the server cannot be reached, is not up or refuses.
  static base::StatusOr<PostgresConnection> Open(const std::string& location);

  const std::string& name() const { return name_; }

  // Whether the server, or what stands before it, has ended the connection. Known after a call that
  // failed for it.
  bool is_lost() const;

  // Runs statements without parameters, separated by semicolons, in one round trip. Gives a result
  // for each that returns or writes rows. Errors: kUnavailable for a lost connection, a server that
  // stops or does not answer, a lock not given in time and whatever else may pass; kNotFound
  // without the tables; kAlreadyExists; kResourceExhausted; kFailedPrecondition for missing rights;
  // kDataLoss for tables that are not a ledger's; kInternal.
  base::StatusOr<std::vector<PostgresResult>> Run(const std::string& statements);

  // Ends the transaction. After an error it is unknown whether it was committed. Errors: as Run.
  base::Status Commit();

 private:
  struct Finish {
    void operator()(pg_conn* connection) const;
  };
  PostgresConnection(pg_conn* connection, std::string name, std::chrono::seconds patience);

  // A result for each statement. Errors: Run's.
  base::StatusOr<std::vector<PostgresResult>> Ask(const std::string& statements);
  // Until everything is sent and libpq has a result, or knows that there will be none. False: too
  // late.
  bool AwaitResult(std::chrono::steady_clock::time_point deadline);

  std::unique_ptr<pg_conn, Finish> connection_;
  std::string name_;
  std::chrono::seconds patience_;  // for an answer
};

}  // namespace submix::ledger
