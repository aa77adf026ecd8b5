// Debian's PostgreSQL, started by the test itself: in a directory and on a local socket of its own,
// as the user `postgres` if the test runs as root, whom the server refuses.
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include <sys/types.h>

#include "submix/base/testing/temporary_directory.h"

namespace submix::ledger {

// One thread at a time. Ends with the test's process, however that ends.
class PostgresServer {
 public:
  // False also where the build left PostgreSQL out.
  static bool IsInstalled();

  // Makes a cluster and starts it. Requires IsInstalled(). A failure fails the test, with the end
  // of the server's log.
  PostgresServer();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  void Start();
  // SIGINT: as in an orderly restart. SIGQUIT: at once, as in a crash.
  void Stop(int signal);
  // As storage that hangs: its processes stand still while the kernel goes on taking connections
  // and bytes for them, until Thaw.
  void Freeze() const { SignalAll(SIGSTOP); }
  void Thaw() const { SignalAll(SIGCONT); }

  // Makes an empty schema, or a whole database, and returns its location.
  std::string NewSchema();
  std::string NewDatabase();
  // As the superuser. Ends in the host.
  std::string Location(const std::string& database, const std::string& options = "") const;
  // What psql prints for these statements, without decoration.
  std::string Sql(const std::string& location, const std::string& statements) const;

  // The socket's file, for who stands between client and server.
  std::string SocketPath() const { return directory_.File(".s.PGSQL.5432"); }

 private:
  pid_t Launch(const std::vector<std::string>& command, const std::string& output) const;
  void Run(const std::vector<std::string>& command, const std::string& output) const;
  void SignalAll(int signal) const;
  std::string Log() const;

  base::TemporaryDirectory directory_;
  const std::string log_ = directory_.File("log");
  const std::string data_ = directory_.File("data");
  pid_t server_ = -1;
  int places_ = 0;
};

// The one of this test program. Made when first asked for.
PostgresServer& SharedPostgresServer();

}  // namespace submix::ledger
