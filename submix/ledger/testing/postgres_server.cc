#include "submix/ledger/testing/postgres_server.h"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace submix::ledger {
namespace {

// Debian's folder of the programs; empty if there is none, or no use for them in this build.
std::string Programs() {
  if (!SUBMIX_WITH_POSTGRES) return "";
  std::error_code error;
  for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", error)) {
    if (std::filesystem::exists(version.path() / "bin/initdb", error)) {
      return (version.path() / "bin/").string();
    }
  }
  return "";
}

const passwd* ServerUser() { return ::geteuid() == 0 ? ::getpwnam("postgres") : nullptr; }

std::string Content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

bool PostgresServer::IsInstalled() {
  return !Programs().empty() && (::geteuid() != 0 || ServerUser() != nullptr);
}

PostgresServer::PostgresServer() {
  if (const passwd* user = ServerUser()) {
    EXPECT_EQ(::chown(directory_.path().c_str(), user->pw_uid, user->pw_gid), 0);
  }
  Run({Programs() + "initdb", "-D", data_, "-U", "postgres", "-A", "trust", "-E", "UTF8",
       "--locale=C", "--no-sync"},
      log_);
  Start();
}

PostgresServer::~PostgresServer() {
  if (server_ > 0) Stop(SIGQUIT);
}

void PostgresServer::Start() {
  server_ = Launch({Programs() + "postgres", "-D", data_, "-k", directory_.path(), "-c",
                    "listen_addresses=", "-c", "shared_buffers=16MB"},
                   log_);
  for (int attempt = 0; attempt < 600; ++attempt) {
    const pid_t ready = Launch({Programs() + "pg_isready", "-q", "-h", directory_.path()}, log_);
    int how = 0;
    ::waitpid(ready, &how, 0);
    if (how == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  FAIL() << "PostgreSQL does not start:\n" << Log();
}

void PostgresServer::Stop(int signal) {
  ASSERT_GT(server_, 0);
  ::kill(server_, signal);
  ::waitpid(server_, nullptr, 0);
  server_ = -1;
}

void PostgresServer::SignalAll(int signal) const {
  const std::string server = std::to_string(server_);
  // The server first: it must not start others meanwhile.
  EXPECT_EQ(::kill(server_, signal), 0);
  std::ifstream children("/proc/" + server + "/task/" + server + "/children");
  int count = 0;
  for (pid_t child = 0; children >> child; ++count) {
    // One that has ended may be gone since the list was made.
    EXPECT_TRUE(::kill(child, signal) == 0 || errno == ESRCH);
  }
  EXPECT_GT(count, 0) << "PostgreSQL has processes of its own";
}

std::string PostgresServer::NewSchema() {
  const std::string name = "ledger" + std::to_string(++places_);
  Sql(Location("postgres"), "CREATE SCHEMA " + name);
  return Location("postgres", "options=-csearch_path%3D" + name + "&");
}

std::string PostgresServer::NewDatabase() {
  const std::string name = "ledger" + std::to_string(++places_);
  Sql(Location("postgres"), "CREATE DATABASE " + name);
  return Location(name);
}

std::string PostgresServer::Location(const std::string& database,
                                     const std::string& options) const {
  return "postgresql://postgres@/" + database + "?" + options + "host=" + directory_.path();
}

std::string PostgresServer::Sql(const std::string& location, const std::string& statements) const {
  const std::string output = directory_.File("psql");
  Run({Programs() + "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statements,
       location},
      output);
  return Content(output);
}

// Starts a program as the server's user; it ends with this process.
pid_t PostgresServer::Launch(const std::vector<std::string>& command,
                             const std::string& output) const {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  const passwd* user = ServerUser();
  const int flags = O_WRONLY | O_CREAT | (output == log_ ? O_APPEND : O_TRUNC);
  const int descriptor = ::open(output.c_str(), flags | O_CLOEXEC, 0666);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) {
    ::close(descriptor);
    return child;
  }
  ::dup2(descriptor, STDOUT_FILENO);
  ::dup2(descriptor, STDERR_FILENO);
  if (user != nullptr && (::setgroups(0, nullptr) != 0 || ::setgid(user->pw_gid) != 0 ||
                          ::setuid(user->pw_uid) != 0)) {
    ::_exit(126);
  }
  // A change of user clears it, so after that.
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
  if (::getppid() != parent || ::chdir(directory_.path().c_str()) != 0) ::_exit(126);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

void PostgresServer::Run(const std::vector<std::string>& command, const std::string& output) const {
  int how = 0;
  ::waitpid(Launch(command, output), &how, 0);
  EXPECT_EQ(how, 0) << command[0] << ":\n" << Content(output) << "\n" << Log();
}

std::string PostgresServer::Log() const {
  constexpr std::size_t kTail = 2000;
  const std::string log = Content(log_);
  return log.substr(log.size() > kTail ? log.size() - kTail : 0);
}

PostgresServer& SharedPostgresServer() {
  static PostgresServer server;
  return server;
}

}  // namespace submix::ledger
