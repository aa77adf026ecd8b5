#include "submix/ledger/ledger_tables.h"

#include <algorithm>
#include <utility>

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
constexpr std::string_view kSelectRecord = "SELECT number, previous, payload, hash FROM records ";

base::Status Damaged(const SqliteConnection& connection, const std::string& what) {
  return base::DataLossError(connection.path() + ": damaged: " + what +
                             "; restore the newest copy of the file");
}

void BindRecord(const Record& record, SqliteStatement& insert) {
  insert.BindInt(1, record.number)
      .BindBytes(2, AsBytes(record.previous))
      .BindBytes(3, record.payload)
      .BindBytes(4, AsBytes(record.hash));
}

Record RecordFromRow(const SqliteStatement& row) {
  return {row.ColumnInt(0), DigestFromBytes(row.ColumnBytes(1)), row.ColumnBytes(2),
          DigestFromBytes(row.ColumnBytes(3))};
}

base::StatusOr<accounting::FixedNats> AmountFrom(std::int64_t units,
                                                 const SqliteConnection& connection) {
  if (units < 0) return Damaged(connection, "a negative amount");
  const auto amount = accounting::FixedNats::FromUnits(units);
  if (!amount.is_payable()) return Damaged(connection, "an amount that no budget can hold");
  return amount;
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

base::Status InsertRecord(SqliteConnection& connection, const Record& record) {
  SUBMIX_ASSIGN_OR_RETURN(SqliteStatement insert, connection.Prepare(kInsertRecord));
  BindRecord(record, insert);
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
  if (!has_meta) return Damaged(connection, "table meta is empty");
  const std::string lineage = meta.ColumnBytes(0);
  if (lineage.size() != state.lineage.size()) return Damaged(connection, "lineage of wrong length");
  std::copy(lineage.begin(), lineage.end(), state.lineage.begin());
  state.fingerprint = DigestFromBytes(meta.ColumnBytes(1));
  state.order_text = meta.ColumnBytes(2);
  return base::OkStatus();
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
  SUBMIX_RETURN_IF_ERROR(connection.Execute("BEGIN IMMEDIATE"));
  SUBMIX_RETURN_IF_ERROR(
      connection.Execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str()));
  SUBMIX_RETURN_IF_ERROR(WriteFormat(connection));
  SUBMIX_RETURN_IF_ERROR(connection.Execute(kSchema));
  SUBMIX_RETURN_IF_ERROR(InsertMeta(connection, state));
  SUBMIX_RETURN_IF_ERROR(InsertAccounts(connection, state.accounts));
  SUBMIX_RETURN_IF_ERROR(InsertRecord(connection, first));
  return connection.Execute("COMMIT");
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
    if (row.ColumnInt(0) != static_cast<std::int64_t>(state.accounts.size())) {
      return Damaged(connection,
                     "account " + std::to_string(state.accounts.size()) + " is missing");
    }
    Account account;
    account.name = row.ColumnBytes(1);
    SUBMIX_ASSIGN_OR_RETURN(account.budget, AmountFrom(row.ColumnInt(2), connection));
    SUBMIX_ASSIGN_OR_RETURN(account.spent, AmountFrom(row.ColumnInt(3), connection));
    state.accounts.push_back(std::move(account));
  }
}

base::StatusOr<Record> ReadNewestRecord(SqliteConnection& connection) {
  SUBMIX_ASSIGN_OR_RETURN(SqliteStatement row, connection.Prepare(std::string(kSelectRecord) +
                                                                  "ORDER BY number DESC LIMIT 1"));
  SUBMIX_ASSIGN_OR_RETURN(const bool has_row, row.Step());
  if (!has_row) return Damaged(connection, "it holds no record");
  return RecordFromRow(row);
}

base::StatusOr<std::optional<Record>> ReadRecord(SqliteConnection& connection,
                                                 std::int64_t number) {
  SUBMIX_ASSIGN_OR_RETURN(SqliteStatement row,
                          connection.Prepare(std::string(kSelectRecord) + "WHERE number = ?1"));
  row.BindInt(1, number);
  SUBMIX_ASSIGN_OR_RETURN(const bool has_row, row.Step());
  std::optional<Record> record;
  if (has_row) record = RecordFromRow(row);
  return record;
}

base::StatusOr<ChainReplay> ReplayRecords(SqliteConnection& connection) {
  SUBMIX_ASSIGN_OR_RETURN(SqliteStatement row,
                          connection.Prepare(std::string(kSelectRecord) + "ORDER BY number"));
  ChainReplay replay;
  for (;;) {
    SUBMIX_ASSIGN_OR_RETURN(const bool has_row, row.Step());
    if (!has_row) return replay;
    const base::Status status = replay.Append(RecordFromRow(row));
    if (!status.ok()) return Damaged(connection, status.message());
  }
}

base::Status MigrateTables(SqliteConnection& connection) {
  SUBMIX_RETURN_IF_ERROR(connection.Execute("BEGIN IMMEDIATE"));
  const auto migrate = [&]() -> base::Status {
    SUBMIX_ASSIGN_OR_RETURN(const LedgerState state, ReadState(connection, kOldestFormat));
    SUBMIX_ASSIGN_OR_RETURN(const ChainReplay replay, ReplayRecords(connection));
    SUBMIX_RETURN_IF_ERROR(CheckSameState(state, replay.state(), connection.path()));
    SUBMIX_RETURN_IF_ERROR(connection.Execute("DROP TABLE accounts"));
    SUBMIX_RETURN_IF_ERROR(InsertAccounts(connection, state.accounts));
    SUBMIX_RETURN_IF_ERROR(
        InsertRecord(connection, ChainRecord(replay.head(), EncodeMigrate(kOldestFormat, state))));
    SUBMIX_RETURN_IF_ERROR(WriteFormat(connection));
    return connection.Execute("COMMIT");
  };
  base::Status status = migrate();
  if (!status.ok()) (void)connection.Execute("ROLLBACK");
  return status;
}

base::Status CheckSameState(const LedgerState& found, const LedgerState& expected,
                            const std::string& path) {
  if (StateDigest(found) == StateDigest(expected)) return base::OkStatus();
  const std::string mend = "; restore the newest copy of the file";
  for (std::size_t part = 0; part < found.accounts.size() && part < expected.accounts.size();
       ++part) {
    const Account& account = found.accounts[part];
    const Account& sum = expected.accounts[part];
    if (account.spent != sum.spent || account.budget != sum.budget || account.name != sum.name) {
      return base::DataLossError(path + ": damaged: account " + std::to_string(part) +
                                 " is not the sum of its records" + mend);
    }
  }
  return base::DataLossError(path + ": damaged: its tables do not match its records" + mend);
}

TableWriter::TableWriter(SqliteStatement begin, SqliteStatement commit, SqliteStatement rollback,
                         SqliteStatement insert_record, SqliteStatement update_account,
                         SqliteStatement update_fingerprint)
    : begin_(std::move(begin)),
      commit_(std::move(commit)),
      rollback_(std::move(rollback)),
      insert_record_(std::move(insert_record)),
      update_account_(std::move(update_account)),
      update_fingerprint_(std::move(update_fingerprint)) {}

base::StatusOr<TableWriter> TableWriter::Prepare(SqliteConnection& connection) {
  SUBMIX_ASSIGN_OR_RETURN(SqliteStatement begin, connection.Prepare("BEGIN IMMEDIATE"));
  SUBMIX_ASSIGN_OR_RETURN(SqliteStatement commit, connection.Prepare("COMMIT"));
  SUBMIX_ASSIGN_OR_RETURN(SqliteStatement rollback, connection.Prepare("ROLLBACK"));
  SUBMIX_ASSIGN_OR_RETURN(SqliteStatement insert_record, connection.Prepare(kInsertRecord));
  SUBMIX_ASSIGN_OR_RETURN(SqliteStatement update_account,
                          connection.Prepare("UPDATE accounts SET spent = ?2 WHERE part = ?1"));
  SUBMIX_ASSIGN_OR_RETURN(SqliteStatement update_fingerprint,
                          connection.Prepare("UPDATE meta SET fingerprint = ?1 WHERE id = 1"));
  return TableWriter(std::move(begin), std::move(commit), std::move(rollback),
                     std::move(insert_record), std::move(update_account),
                     std::move(update_fingerprint));
}

base::Status TableWriter::Commit(const Record& record, const LedgerState& after) {
  if (const auto begun = begin_.Step(); !begun.ok()) return begun.status();
  base::Status status = WriteInTransaction(record, after);
  if (status.ok()) status = commit_.Step().status();
  // SQLite may have rolled back by itself: then this fails, which is fine.
  if (!status.ok()) (void)rollback_.Step();
  return status;
}

base::Status TableWriter::WriteInTransaction(const Record& record, const LedgerState& after) {
  // A second writer, should one get past the lock, fails here: record numbers are unique.
  BindRecord(record, insert_record_);
  SUBMIX_RETURN_IF_ERROR(insert_record_.ChangeOneRow());
  for (std::size_t part = 0; part < after.accounts.size(); ++part) {
    update_account_.BindInt(1, static_cast<std::int64_t>(part))
        .BindInt(2, after.accounts[part].spent.units());
    SUBMIX_RETURN_IF_ERROR(update_account_.ChangeOneRow());
  }
  update_fingerprint_.BindBytes(1, AsBytes(after.fingerprint));
  return update_fingerprint_.ChangeOneRow();
}

}  // namespace submix::ledger
