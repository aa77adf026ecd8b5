#include "submix/ledger/testing/commit_cutter.h"

#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace submix::ledger {
namespace {

// The protocol's simple query: 'Q', its length, the text.
constexpr std::string_view kCommit(
    "Q\0\0\0\x0b"
    "COMMIT\0",
    12);

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  EXPECT_LT(path.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

int Listen(const std::string& path) {
  const sockaddr_un address = AddressOf(path);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(listener, 8), 0);
  return listener;
}

}  // namespace

CommitCutter::CommitCutter(std::string server_socket)
    : server_socket_(std::move(server_socket)),
      listener_(Listen(directory_.File(".s.PGSQL.5432"))),
      thread_([this] { Serve(); }) {}

CommitCutter::~CommitCutter() {
  over_ = true;
  thread_.join();
  ::close(listener_);
}

// One connection after the other.
void CommitCutter::Serve() {
  while (!over_) {
    pollfd waiting{listener_, POLLIN, 0};
    if (::poll(&waiting, 1, 20) <= 0) continue;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un address = AddressOf(server_socket_);
    if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      Forward(client, server);
    }
    ::close(server);
    ::close(client);
  }
}

void CommitCutter::Forward(int client, int server) {
  std::array<char, 65536> buffer;
  auto cut = When::kNever;
  while (!over_) {
    std::array<pollfd, 2> ends = {{{client, POLLIN, 0}, {server, POLLIN, 0}}};
    if (::poll(ends.data(), ends.size(), 20) <= 0) continue;
    const bool from_client = ends[0].revents != 0;
    const ssize_t count = ::read(from_client ? client : server, buffer.data(), buffer.size());
    if (count <= 0 || (cut == When::kAfter && !from_client)) return;
    if (cut == When::kSilent && !from_client) continue;
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
    if (from_client && bytes == kCommit) {
      cut = when_.exchange(When::kNever);
      if (cut == When::kBefore) return;
    }
    if (::send(from_client ? server : client, bytes.data(), bytes.size(), MSG_NOSIGNAL) != count) {
      return;
    }
  }
}

}  // namespace submix::ledger
