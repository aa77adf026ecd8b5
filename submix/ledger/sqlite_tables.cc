#include "submix/ledger/sqlite_tables.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "submix/ledger/chain_replay.h"

namespace submix::ledger {
namespace {

constexpr int kApplicationId = 0x53424d58;  // "SBMX"

constexpr char kSchema[] = R"(
  CREATE TABLE meta (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    lineage BLOB NOT NULL,
    fingerprint BLOB NOT NULL,
    order_text TEXT NOT NULL) STRICT;
  CREATE TABLE records (
    number INTEGER PRIMARY KEY,
    previous BLOB NOT NULL,
    payload BLOB NOT NULL,
    hash BLOB NOT NULL) STRICT;)";

constexpr char kAccountsSchema[] = R"(
  CREATE TABLE accounts (
    part INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    budget INTEGER NOT NULL,
    spent INTEGER NOT NULL) STRICT;)";

constexpr std::string_view kInsertRecord =
    "INSERT INTO records (number, previous, payload, hash) VALUES (?1, ?2, ?3, ?4)";
constexpr char kSelectRecord[] = "SELECT number, previous, payload, hash FROM records ";

Record RecordFromRow(const SqliteStatement& row) {
  return {row.ColumnInt(0), DigestFromBytes(row.ColumnBytes(1)), row.ColumnBytes(2),
          DigestFromBytes(row.ColumnBytes(3))};
}

base::Status InsertMeta(SqliteConnection& connection, const LedgerState& state) {
  SUBMIX_ASSIGN_OR_RETURN(
      SqliteStatement meta,
      connection.Prepare("INSERT INTO meta (id, lineage, fingerprint, order_text) "
                         "VALUES (1, ?1, ?2, ?3)"));
  meta.BindBytes(1, AsBytes(state.lineage))
      .BindBytes(2, AsBytes(state.fingerprint))
      .BindText(3, state.order_text);
  return meta.ChangeOneRow();
}

base::Status InsertAccounts(SqliteConnection& connection, const std::vector<Account>& accounts) {
  SUBMIX_RETURN_IF_ERROR(connection.Execute(kAccountsSchema));
  SUBMIX_ASSIGN_OR_RETURN(SqliteStatement insert,
                          connection.Prepare("INSERT INTO accounts (part, name, budget, spent) "
                                             "VALUES (?1, ?2, ?3, ?4)"));
  for (std::size_t part = 0; part < accounts.size(); ++part) {
    const Account& account = accounts[part];
    insert.BindInt(1, static_cast<std::int64_t>(part))
        .BindText(2, account.name)
        .BindInt(3, account.budget.units())
        .BindInt(4, account.spent.units());
    SUBMIX_RETURN_IF_ERROR(insert.ChangeOneRow());
  }
  return base::OkStatus();
}

base::Status InsertRecord(const Record& record, SqliteStatement& insert) {
  insert.BindInt(1, record.number)
      .BindBytes(2, AsBytes(record.previous))
      .BindBytes(3, record.payload)
      .BindBytes(4, AsBytes(record.hash));
  return insert.ChangeOneRow();
}

base::Status WriteFormat(SqliteConnection& connection) {
  return connection.Execute(("PRAGMA user_version = " + std::to_string(kNewestFormat)).c_str());
}

base::Status ReadMeta(SqliteConnection& connection, LedgerState& state) {
  SUBMIX_ASSIGN_OR_RETURN(
      SqliteStatement meta,
      connection.Prepare("SELECT lineage, fingerprint, order_text FROM meta WHERE id = 1"));
  SUBMIX_ASSIGN_OR_RETURN(const bool has_meta, meta.Step());
  if (!has_meta) return DamagedError(connection.path(), "table meta is empty");
  const std::string lineage = meta.ColumnBytes(0);
  if (lineage.size() != state.lineage.size())
    return DamagedError(connection.path(), "lineage of wrong length");
  std::copy(lineage.begin(), lineage.end(), state.lineage.begin());
  state.fingerprint = DigestFromBytes(meta.ColumnBytes(1));
  state.order_text = meta.ColumnBytes(2);
  return base::OkStatus();
}

base::StatusOr<LedgerState> ReadState(SqliteConnection& connection, int format) {
  LedgerState state;
  SUBMIX_RETURN_IF_ERROR(ReadMeta(connection, state));
  const std::string name = format == 1 ? "'part ' || part" : "name";
  SUBMIX_ASSIGN_OR_RETURN(
      SqliteStatement row,
      connection.Prepare("SELECT part, " + name + ", budget, spent FROM accounts ORDER BY part"));
  for (;;) {
    SUBMIX_ASSIGN_OR_RETURN(const bool has_row, row.Step());
    if (!has_row) return state;
    SUBMIX_RETURN_IF_ERROR(AddAccount(row.ColumnInt(0), row.ColumnBytes(1), row.ColumnInt(2),
                                      row.ColumnInt(3), state, connection.path()));
  }
}

// The first record that the clause selects.
base::StatusOr<std::optional<Record>> FindRecord(SqliteConnection& connection,
                                                 const std::string& clause) {
  SUBMIX_ASSIGN_OR_RETURN(SqliteStatement row, connection.Prepare(kSelectRecord + clause));
  SUBMIX_ASSIGN_OR_RETURN(const bool has_row, row.Step());
  if (!has_row) return std::optional<Record>();
  return std::optional(RecordFromRow(row));
}

base::StatusOr<ChainReplay> ReplayRecords(SqliteConnection& connection) {
  ChainReplay replay;
  SUBMIX_RETURN_IF_ERROR(ForEachRecord(connection, [&](const Record& record) {
    const base::Status status = replay.Append(record);
    return status.ok() ? status : DamagedError(connection.path(), status.message());
  }));
  return replay;
}

base::StatusOr<StoredLedger> ReadNewestFormat(SqliteConnection& connection, std::int64_t anchored) {
  SUBMIX_ASSIGN_OR_RETURN(const int format, ReadFormat(connection));
  SUBMIX_RETURN_IF_ERROR(CheckNewestFormat(format, connection.path()));
  return ReadStored(connection, format, anchored);
}

}  // namespace

base::StatusOr<int> ReadFormat(SqliteConnection& connection) {
  SUBMIX_ASSIGN_OR_RETURN(const std::int64_t application,
                          connection.QueryInt("PRAGMA application_id"));
  if (application != kApplicationId) {
    return base::DataLossError(connection.path() + ": not a Submix ledger, or damaged");
  }
  SUBMIX_ASSIGN_OR_RETURN(const std::int64_t format, connection.QueryInt("PRAGMA user_version"));
  return static_cast<int>(format);
}

base::Status CreateTables(SqliteConnection& connection, const LedgerState& state,
                          const Record& first) {
  SUBMIX_RETURN_IF_ERROR(connection.Execute("PRAGMA synchronous = FULL"));
  return connection.InTransaction([&]() -> base::Status {
    SUBMIX_RETURN_IF_ERROR(
        connection.Execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str()));
    SUBMIX_RETURN_IF_ERROR(WriteFormat(connection));
    SUBMIX_RETURN_IF_ERROR(connection.Execute(kSchema));
    SUBMIX_RETURN_IF_ERROR(InsertMeta(connection, state));
    SUBMIX_RETURN_IF_ERROR(InsertAccounts(connection, state.accounts));
    SUBMIX_ASSIGN_OR_RETURN(SqliteStatement insert, connection.Prepare(kInsertRecord));
    return InsertRecord(first, insert);
  });
}

base::StatusOr<StoredLedger> ReadStored(SqliteConnection& connection, int format,
                                        std::int64_t anchored) {
  StoredLedger stored;
  stored.format = format;
  SUBMIX_ASSIGN_OR_RETURN(stored.state, ReadState(connection, format));
  SUBMIX_ASSIGN_OR_RETURN(const auto newest,
                          FindRecord(connection, "ORDER BY number DESC LIMIT 1"));
  if (!newest.has_value()) return DamagedError(connection.path(), "it holds no record");
  stored.newest = *newest;
  SUBMIX_ASSIGN_OR_RETURN(stored.anchored,
                          FindRecord(connection, "WHERE number = " + std::to_string(anchored)));
  return stored;
}

base::StatusOr<StoredLedger> ReadSnapshot(SqliteConnection& connection, std::int64_t anchored) {
  struct Transaction {
    SqliteConnection& connection;
    ~Transaction() { (void)connection.Execute("COMMIT"); }
  };
  SUBMIX_RETURN_IF_ERROR(connection.Execute("BEGIN"));
  const Transaction ends{connection};  // also where memory runs out
  return ReadNewestFormat(connection, anchored);
}

base::StatusOr<StoredLedger> ReadVerified(const std::string& path, std::int64_t anchored) {
  SUBMIX_ASSIGN_OR_RETURN(SqliteConnection connection,
                          SqliteConnection::Open(path, SqliteConnection::Mode::kReadOnly));
  SUBMIX_RETURN_IF_ERROR(connection.Execute("BEGIN"));
  SUBMIX_ASSIGN_OR_RETURN(StoredLedger stored, ReadNewestFormat(connection, anchored));
  SUBMIX_ASSIGN_OR_RETURN(const ChainReplay replay, ReplayRecords(connection));
  SUBMIX_RETURN_IF_ERROR(CheckSameState(stored.state, replay.state(), path));
  return stored;
}

base::Status ForEachRecord(SqliteConnection& connection, const RecordVisitor& visit) {
  SUBMIX_ASSIGN_OR_RETURN(SqliteStatement row,
                          connection.Prepare(std::string(kSelectRecord) + "ORDER BY number"));
  for (;;) {
    SUBMIX_ASSIGN_OR_RETURN(const bool has_row, row.Step());
    if (!has_row) return base::OkStatus();
    SUBMIX_RETURN_IF_ERROR(visit(RecordFromRow(row)));
  }
}

base::Status MigrateTables(SqliteConnection& connection) {
  return connection.InTransaction([&]() -> base::Status {
    SUBMIX_ASSIGN_OR_RETURN(const LedgerState state, ReadState(connection, kOldestFormat));
    SUBMIX_ASSIGN_OR_RETURN(const ChainReplay replay, ReplayRecords(connection));
    SUBMIX_RETURN_IF_ERROR(CheckSameState(state, replay.state(), connection.path()));
    SUBMIX_RETURN_IF_ERROR(connection.Execute("DROP TABLE accounts"));
    SUBMIX_RETURN_IF_ERROR(InsertAccounts(connection, state.accounts));
    SUBMIX_ASSIGN_OR_RETURN(SqliteStatement insert, connection.Prepare(kInsertRecord));
    SUBMIX_RETURN_IF_ERROR(
        InsertRecord(ChainRecord(replay.head(), EncodeMigrate(kOldestFormat, state)), insert));
    return WriteFormat(connection);
  });
}

base::StatusOr<TableWriter> TableWriter::Prepare(SqliteConnection& connection) {
  SUBMIX_ASSIGN_OR_RETURN(SqliteStatement insert_record, connection.Prepare(kInsertRecord));
  // SQLite writes no page whose bytes stay as they are, so a step in which nobody can pay would
  // write less than others. What is turned around here gets its value by update_account, in the
  // same transaction.
  SUBMIX_ASSIGN_OR_RETURN(SqliteStatement turn_accounts,
                          connection.Prepare("UPDATE accounts SET spent = -1 - spent"));
  SUBMIX_ASSIGN_OR_RETURN(SqliteStatement update_account,
                          connection.Prepare("UPDATE accounts SET spent = ?2 WHERE part = ?1"));
  SUBMIX_ASSIGN_OR_RETURN(SqliteStatement update_fingerprint,
                          connection.Prepare("UPDATE meta SET fingerprint = ?1 WHERE id = 1"));
  return TableWriter{std::move(insert_record), std::move(turn_accounts), std::move(update_account),
                     std::move(update_fingerprint)};
}

base::Status TableWriter::Commit(const Record& record, const LedgerState& after,
                                 SqliteConnection& connection) {
  return connection.InTransaction([&]() -> base::Status {
    // A second writer, should one get past the lock, fails here: record numbers are unique.
    SUBMIX_RETURN_IF_ERROR(InsertRecord(record, insert_record));
    SUBMIX_RETURN_IF_ERROR(turn_accounts.Step().status());
    for (std::size_t part = 0; part < after.accounts.size(); ++part) {
      update_account.BindInt(1, static_cast<std::int64_t>(part))
          .BindInt(2, after.accounts[part].spent.units());
      SUBMIX_RETURN_IF_ERROR(update_account.ChangeOneRow());
    }
    update_fingerprint.BindBytes(1, AsBytes(after.fingerprint));
    return update_fingerprint.ChangeOneRow();
  });
}

}  // namespace submix::ledger
