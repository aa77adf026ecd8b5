#include "submix/ledger/postgres_connection.h"

#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include <libpq-fe.h>
#include <poll.h>

#include "submix/base/json_object.h"

namespace submix::ledger {
namespace {

using base::StatusCode;

// What a statement's failure means, by SQLSTATE or its first letters: the first that fits.
struct ErrorClass {
  std::string_view state;
  StatusCode code;
  std::string_view mend;
};
constexpr std::string_view kTryAgain = "; nothing was released, try again later";
constexpr std::string_view kRestore = "; restore the database's newest copy";
constexpr ErrorClass kErrorClasses[] = {
    {"08", StatusCode::kUnavailable, kTryAgain},
    {"57", StatusCode::kUnavailable, kTryAgain},
    {"40", StatusCode::kUnavailable, kTryAgain},
    {"55P03", StatusCode::kUnavailable, kTryAgain},
    {"25006", StatusCode::kUnavailable, "; charge the primary, not a standby"},
    {"25P03", StatusCode::kUnavailable, kTryAgain},
    {"53100", StatusCode::kResourceExhausted, "; free some space on the database's disk"},
    {"53", StatusCode::kUnavailable, kTryAgain},
    {"42P01", StatusCode::kNotFound,
     "; the ledger is missing: restore the database's newest copy (docs/operating.md, Restore)"},
    {"42P07", StatusCode::kAlreadyExists,
     "; there is a ledger already, and a budget is never started anew; only if an interrupted "
     "`submix deploy` left it and it never answered anything, drop its tables"},
    {"42501", StatusCode::kFailedPrecondition, "; grant the rights of docs/ledger_format.md"},
    {"28", StatusCode::kFailedPrecondition, ""},
    {"42", StatusCode::kDataLoss, kRestore},
    {"22", StatusCode::kDataLoss, kRestore},
};

// libpq's messages may have several lines, and whatever bytes a server sent: ours have one, of
// text.
std::string FirstLine(const char* message) {
  const std::string_view text(message == nullptr ? "" : message);
  return base::Printable(text.substr(0, text.find('\n')));
}

// Not the message's details: they quote rows.
base::Status ErrorOf(const pg_result* result, const pg_conn* connection, const std::string& name) {
  const std::string prefix = name + ": PostgreSQL: ";
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  if (state == nullptr) {
    return base::UnavailableError(prefix + FirstLine(PQerrorMessage(connection)) +
                                  std::string(kTryAgain));
  }
  const std::string what = prefix + FirstLine(PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
  for (const ErrorClass& error : kErrorClasses) {
    if (!std::string_view(state).starts_with(error.state)) continue;
    return base::Status(error.code, what + std::string(error.mend));
  }
  return base::InternalError(what + " (" + state + ")");
}

// Zero if it begins with none.
std::int64_t NumberIn(std::string_view digits) {
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

bool Succeeded(const pg_result* result) {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

void SayNothing(void*, const pg_result*) {}

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

struct Location {
  std::string name;
  std::chrono::seconds patience{5};
};

base::StatusOr<Location> ReadLocation(const std::string& text) {
  // libpq's own message would quote the location.
  const std::unique_ptr<PQconninfoOption, FreeOptions> options(
      PQconninfoParse(text.c_str(), nullptr));
  if (options == nullptr) {
    return base::InvalidArgumentError(
        "the ledger's location is not one that libpq reads: postgresql://[USER@]HOST[:PORT]/"
        "DATABASE[?OPTION=VALUE&...]");
  }
  Location location;
  std::string host;
  std::string port;
  std::string database;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    const std::string_view keyword = option->keyword;
    if (keyword == "password" || keyword == "sslpassword") {
      return base::InvalidArgumentError(
          "the ledger's location holds a password, which would end up in files and process lists; "
          "put it into ~/.pgpass or the file that PGPASSFILE names");
    }
    if (keyword == "connect_timeout") {
      const std::int64_t seconds = NumberIn(option->val);
      if (seconds < 1 || seconds > 3600 || std::to_string(seconds) != option->val) {
        return base::InvalidArgumentError(
            "the ledger's location: connect_timeout must be from 1 to 3600 seconds");
      }
      location.patience = std::chrono::seconds(seconds);
    }
    if (keyword == "host") host = option->val;
    if (keyword == "port") port = ":" + std::string(option->val);
    if (keyword == "dbname") database = option->val;
  }
  // A host that is a path is the folder of a local socket.
  if (host.starts_with('/')) host = port = "";
  location.name = "postgresql://" + host + port + "/" + database;
  return location;
}

}  // namespace

void PostgresResult::Clear::operator()(pg_result* result) const { PQclear(result); }

std::int64_t PostgresResult::rows() const { return NumberIn(PQcmdTuples(result_.get())); }

std::int64_t PostgresResult::Int(std::int64_t row, int column) const {
  return NumberIn(Text(row, column));
}

std::string PostgresResult::Text(std::int64_t row, int column) const {
  return PQgetvalue(result_.get(), static_cast<int>(row), column);
}

std::string PostgresResult::Bytes(std::int64_t row, int column) const {
  const char* escaped = PQgetvalue(result_.get(), static_cast<int>(row), column);
  std::size_t size = 0;
  const std::unique_ptr<unsigned char, decltype(&PQfreemem)> bytes(
      PQunescapeBytea(reinterpret_cast<const unsigned char*>(escaped), &size), &PQfreemem);
  if (bytes == nullptr) return "";
  return std::string(reinterpret_cast<const char*>(bytes.get()), size);
}

void PostgresConnection::Finish::operator()(pg_conn* connection) const { PQfinish(connection); }

PostgresConnection::PostgresConnection(pg_conn* connection, std::string name,
                                       std::chrono::seconds patience)
    : connection_(connection), name_(std::move(name)), patience_(patience) {}

base::StatusOr<std::string> PostgresConnection::NameOf(const std::string& location) {
  SUBMIX_ASSIGN_OR_RETURN(Location read, ReadLocation(location));
  return std::move(read.name);
}

base::StatusOr<PostgresConnection> PostgresConnection::Open(const std::string& location) {
  SUBMIX_ASSIGN_OR_RETURN(Location read, ReadLocation(location));
  const std::string patience = std::to_string(read.patience.count());
  // How soon a connection that nobody uses is known to be dead, in seconds; the location may say
  // otherwise.
  const char* const keywords[] = {
      "application_name", "connect_timeout", "keepalives_idle", "keepalives_interval",
      "keepalives_count", "dbname",          "client_encoding", nullptr};
  const char* const values[] = {"submix", patience.c_str(), "10",   "5",
                                "3",      location.c_str(), "UTF8", nullptr};
  pg_conn* raw = PQconnectdbParams(keywords, values, /*expand_dbname=*/1);
  if (raw == nullptr) return base::ResourceExhaustedError(read.name + ": libpq could not start");
  PostgresConnection connection(raw, std::move(read.name), read.patience);
  if (PQstatus(raw) != CONNECTION_OK || PQsetnonblocking(raw, 1) != 0) {
    return base::UnavailableError(connection.name() + ": PostgreSQL: " +
                                  FirstLine(PQerrorMessage(raw)) + std::string(kTryAgain));
  }
  PQsetNoticeReceiver(raw, SayNothing, nullptr);
  return connection;
}

bool PostgresConnection::is_lost() const { return PQstatus(connection_.get()) != CONNECTION_OK; }

bool PostgresConnection::AwaitResult(std::chrono::steady_clock::time_point deadline) {
  pg_conn* const connection = connection_.get();
  for (;;) {
    const int unsent = PQflush(connection);
    if (unsent < 0 || (unsent == 0 && PQisBusy(connection) == 0)) return true;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd socket{PQsocket(connection), static_cast<short>(unsent > 0 ? POLLIN | POLLOUT : POLLIN),
                  0};
    // An interrupted wait goes on. A lost connection is what libpq's next result says.
    if (::poll(&socket, 1, static_cast<int>(left.count())) <= 0) continue;
    if (PQconsumeInput(connection) == 0) return true;
  }
}

base::StatusOr<std::vector<PostgresResult>> PostgresConnection::Ask(const std::string& statements) {
  std::vector<PostgresResult> results;
  base::Status status;
  const auto deadline = std::chrono::steady_clock::now() + patience_;
  const bool sent = PQsendQuery(connection_.get(), statements.c_str()) == 1;
  if (!sent) return ErrorOf(nullptr, connection_.get(), name_);
  for (;;) {
    if (!AwaitResult(deadline)) {
      return base::UnavailableError(name_ + ": PostgreSQL: no answer within " +
                                    std::to_string(patience_.count()) + " s" +
                                    std::string(kTryAgain));
    }
    pg_result* const raw = PQgetResult(connection_.get());
    if (raw == nullptr) break;
    results.push_back(PostgresResult(raw));
    if (!Succeeded(raw) && status.ok()) status = ErrorOf(raw, connection_.get(), name_);
  }
  if (!status.ok()) return status;
  return results;
}

base::StatusOr<std::vector<PostgresResult>> PostgresConnection::Run(const std::string& statements) {
  SUBMIX_ASSIGN_OR_RETURN(std::vector<PostgresResult> results, Ask(statements));
  std::erase_if(results, [](const PostgresResult& result) {
    return *PQcmdTuples(result.result_.get()) == '\0';
  });
  return results;
}

base::Status PostgresConnection::Commit() {
  const auto results = Ask("COMMIT");
  if (!results.ok()) {
    return base::Status(results.status().code(),
                        results.status().message() +
                            " (the commit's outcome is unknown: what was booked stays booked)");
  }
  // A transaction that has failed answers ROLLBACK, which is no error to PostgreSQL.
  if (!results->empty() &&
      std::strcmp(PQcmdStatus(results->front().result_.get()), "COMMIT") == 0) {
    return base::OkStatus();
  }
  return base::InternalError(name_ + ": PostgreSQL rolled a transaction back");
}

}  // namespace submix::ledger
