// Stands between a client and PostgreSQL and cuts the connection at a COMMIT: before the server has
// seen it, or after the server has done it and before the client hears; or leaves it uncut, and the
// client never hears.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "submix/base/testing/temporary_directory.h"

namespace submix::ledger {

class CommitCutter {
 public:
  enum class When { kNever, kBefore, kAfter, kSilent };

  explicit CommitCutter(std::string server_socket);
  ~CommitCutter();
  CommitCutter(const CommitCutter&) = delete;
  CommitCutter& operator=(const CommitCutter&) = delete;

  // The host to connect to instead of the server's.
  const std::string& host() const { return directory_.path(); }
  // Of the next COMMIT, once.
  void Cut(When when) { when_ = when; }

 private:
  void Serve();
  void Forward(int client, int server);

  const base::TemporaryDirectory directory_;
  const std::string server_socket_;
  const int listener_;
  std::atomic<When> when_ = When::kNever;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

}  // namespace submix::ledger
