#include "submix/ledger/postgres_tables.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace submix::ledger {
namespace {

constexpr char kPostgresSchema[] = R"(
  CREATE TABLE submix_ledger (
    id integer PRIMARY KEY CHECK (id = 1),
    format integer NOT NULL,
    lineage bytea NOT NULL,
    fingerprint bytea NOT NULL,
    order_text text NOT NULL);
  CREATE TABLE submix_accounts (
    part integer PRIMARY KEY,
    name text NOT NULL,
    budget bigint NOT NULL,
    spent bigint NOT NULL);
  CREATE TABLE submix_records (
    number bigint PRIMARY KEY,
    previous bytea NOT NULL,
    payload bytea NOT NULL,
    hash bytea NOT NULL);)";

constexpr char kBeginSnapshot[] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;";

// READ COMMITTED: what is read after the lock is what its last holder committed. Whatever the
// server's defaults, a commit is synced, and no holder of the lock that has gone to sleep keeps the
// others waiting for ever: the server ends its transaction, before they give the server up.
constexpr char kBeginCharge[] =
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
    "SET LOCAL synchronous_commit = on;"
    "SET LOCAL lock_timeout = '4s';"
    "SET LOCAL idle_in_transaction_session_timeout = '4s';";

constexpr char kSelectLedger[] =
    "SELECT format, lineage, fingerprint, order_text, current_setting('fsync') "
    "FROM submix_ledger WHERE id = 1";
constexpr char kSelectAccounts[] =
    ";SELECT part, name, budget, spent FROM submix_accounts ORDER BY part;";
constexpr char kSelectPostgresRecord[] =
    "SELECT number, previous, payload, hash FROM submix_records ";

// Every value in a statement is one of these two: digits alone, injection is none.
std::string Bytes(std::string_view bytes) {
  const std::span octets(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return "decode('" + base::ToHex(octets) + "', 'hex')";
}
std::string Bytes(std::span<const std::uint8_t> bytes) { return Bytes(AsBytes(bytes)); }
std::string Text(std::string_view text) { return "convert_from(" + Bytes(text) + ", 'UTF8')"; }

std::string InsertRecord(const Record& record) {
  return "INSERT INTO submix_records (number, previous, payload, hash) VALUES (" +
         std::to_string(record.number) + ", " + Bytes(record.previous) + ", " +
         Bytes(record.payload) + ", " + Bytes(record.hash) + ");";
}

Record RecordFromRow(const PostgresResult& rows, std::int64_t row) {
  return {rows.Int(row, 0), DigestFromBytes(rows.Bytes(row, 1)), rows.Bytes(row, 2),
          DigestFromBytes(rows.Bytes(row, 3))};
}

base::Status ReadLedgerRow(const PostgresResult& row, StoredLedger& stored,
                           const std::string& name) {
  if (row.rows() != 1) return DamagedError(name, "table submix_ledger is empty");
  stored.format = static_cast<int>(row.Int(0, 0));
  SUBMIX_RETURN_IF_ERROR(CheckNewestFormat(stored.format, name));
  const std::string lineage = row.Bytes(0, 1);
  if (lineage.size() != stored.state.lineage.size()) {
    return DamagedError(name, "lineage of wrong length");
  }
  std::copy(lineage.begin(), lineage.end(), stored.state.lineage.begin());
  stored.state.fingerprint = DigestFromBytes(row.Bytes(0, 2));
  stored.state.order_text = row.Text(0, 3);
  return base::OkStatus();
}

base::Status CheckSyncs(const PostgresResult& row, const std::string& name) {
  if (row.Text(0, 4) == "on") return base::OkStatus();
  return base::FailedPreconditionError(
      name + ": the server runs with fsync off, so it may lose charges; set fsync = on");
}

}  // namespace

base::Status PostgresTables::BeginCreation(const LedgerState& state) {
  std::string statements = std::string(kBeginCharge) + kPostgresSchema;
  statements +=
      "INSERT INTO submix_ledger (id, format, lineage, fingerprint, order_text) VALUES (1, " +
      std::to_string(kNewestFormat) + ", " + Bytes(state.lineage) + ", " +
      Bytes(state.fingerprint) + ", " + Text(state.order_text) + ");";
  for (std::size_t part = 0; part < state.accounts.size(); ++part) {
    const Account& account = state.accounts[part];
    statements += "INSERT INTO submix_accounts (part, name, budget, spent) VALUES (" +
                  std::to_string(part) + ", " + Text(account.name) + ", " +
                  std::to_string(account.budget.units()) + ", " +
                  std::to_string(account.spent.units()) + ");";
  }
  return connection_.Run(statements).status();
}

base::Status PostgresTables::Insert(const Record& record) {
  return connection_.Run(InsertRecord(record)).status();
}

base::StatusOr<StoredLedger> PostgresTables::Read(const std::string& begin, const std::string& lock,
                                                  const std::string& end, std::int64_t anchored) {
  const std::string record = kSelectPostgresRecord;
  SUBMIX_ASSIGN_OR_RETURN(
      const auto results,
      connection_.Run(begin + kSelectLedger + lock + kSelectAccounts + record +
                      "ORDER BY number DESC LIMIT 1;" + record +
                      "WHERE number = " + std::to_string(anchored) + ";" + end));
  SUBMIX_CHECK(results.size() == 4, "a result for each query");
  StoredLedger stored;
  SUBMIX_RETURN_IF_ERROR(ReadLedgerRow(results[0], stored, name()));
  if (!lock.empty()) SUBMIX_RETURN_IF_ERROR(CheckSyncs(results[0], name()));
  for (std::int64_t row = 0; row < results[1].rows(); ++row) {
    SUBMIX_RETURN_IF_ERROR(AddAccount(results[1].Int(row, 0), results[1].Text(row, 1),
                                      results[1].Int(row, 2), results[1].Int(row, 3), stored.state,
                                      name()));
  }
  if (results[2].rows() != 1) return DamagedError(name(), "it holds no record");
  stored.newest = RecordFromRow(results[2], 0);
  if (results[3].rows() == 1) stored.anchored = RecordFromRow(results[3], 0);
  return stored;
}

base::StatusOr<StoredLedger> PostgresTables::ReadSnapshot(std::int64_t anchored) {
  return Read(kBeginSnapshot, "", "COMMIT", anchored);
}

base::StatusOr<StoredLedger> PostgresTables::ReadVerified(std::int64_t anchored) {
  SUBMIX_ASSIGN_OR_RETURN(StoredLedger stored, Read(kBeginSnapshot, "", "", anchored));
  ChainReplay replay;
  SUBMIX_RETURN_IF_ERROR(ReplayInto(replay));
  SUBMIX_RETURN_IF_ERROR(CheckSameState(stored.state, replay.state(), name()));
  SUBMIX_RETURN_IF_ERROR(connection_.Commit());
  return stored;
}

base::Status PostgresTables::ReplayInto(ChainReplay& replay) {
  constexpr std::int64_t kPage = 256;
  // From the first row, not from record 1: what does not belong there is damage too.
  std::string after;
  for (;;) {
    SUBMIX_ASSIGN_OR_RETURN(const auto results,
                            connection_.Run(kSelectPostgresRecord + after +
                                            "ORDER BY number LIMIT " + std::to_string(kPage)));
    for (std::int64_t row = 0; row < results[0].rows(); ++row) {
      const base::Status status = replay.Append(RecordFromRow(results[0], row));
      if (!status.ok()) return DamagedError(name(), status.message());
    }
    if (results[0].rows() < kPage) return base::OkStatus();
    after = "WHERE number > " + std::to_string(replay.head().records) + " ";
  }
}

base::StatusOr<StoredLedger> PostgresTables::BeginCharge(std::int64_t anchored) {
  return Read(kBeginCharge, " FOR UPDATE", "", anchored);
}

base::Status PostgresTables::Write(const Record& record, const LedgerState& before,
                                   const LedgerState& after) {
  std::string statements = InsertRecord(record) +
                           "UPDATE submix_accounts AS account "
                           "SET spent = account.spent + charge.amount FROM (VALUES ";
  for (std::size_t part = 0; part < after.accounts.size(); ++part) {
    const auto charge = after.accounts[part].spent - before.accounts[part].spent;
    statements += (part == 0 ? "(" : ", (") + std::to_string(part) + ", bigint '" +
                  std::to_string(charge.units()) + "')";
  }
  statements +=
      ") AS charge (part, amount) WHERE account.part = charge.part AND (charge.amount = 0 OR "
      "account.spent + charge.amount <= account.budget);";
  const bool rebinds = after.fingerprint != before.fingerprint;
  if (rebinds) {
    statements +=
        "UPDATE submix_ledger SET fingerprint = " + Bytes(after.fingerprint) + " WHERE id = 1";
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto results, connection_.Run(statements));
  const auto num_parts = static_cast<std::int64_t>(after.accounts.size());
  if (results[0].rows() == 1 && results[1].rows() == num_parts &&
      (!rebinds || results[2].rows() == 1)) {
    return base::OkStatus();
  }
  return DamagedError(name(), "a write met other rows than were read before it");
}

}  // namespace submix::ledger
