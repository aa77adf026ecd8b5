#include "submix/external/channel.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace submix::external {
namespace {

using base::Status;
using base::StatusOr;

// Whether the system only says that it would wait.
bool IsWait(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

StatusOr<std::unique_ptr<Channel>> Channel::Connect(const std::string& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.empty() || socket.size() >= sizeof(address.sun_path)) {
    return base::InvalidArgumentError(socket + ": the path of a socket has 1 to " +
                                      std::to_string(sizeof(address.sun_path) - 1) +
                                      " bytes; give a shorter one");
  }
  std::ranges::copy(socket, address.sun_path);
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) {
    return base::UnavailableError(socket + ": no socket: " + std::strerror(errno));
  }
  std::unique_ptr<Channel> channel(new Channel(descriptor, socket));
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    return channel;
  }
  return base::UnavailableError(socket + ": no process that computes logits answers there (" +
                                std::strerror(errno) + "); start it");
}

Channel::~Channel() { ::close(descriptor_); }

Status Channel::Gone() const {
  return base::UnavailableError(socket_ +
                                ": the process that computes the logits closed the connection");
}

Status Channel::Await(short events, Clock::time_point deadline) const {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      return base::UnavailableError(socket_ + ": the logits did not come in time");
    }
    pollfd waiting{descriptor_, events, 0};
    if (::poll(&waiting, 1, static_cast<int>(std::min<std::int64_t>(left, 3'600'000))) > 0) {
      return base::OkStatus();
    }
  }
}

Status Channel::Send(std::span<const std::byte> bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (IsWait(errno)) {
      SUBMIX_RETURN_IF_ERROR(Await(POLLOUT, deadline));
    } else {
      return Gone();
    }
  }
  return base::OkStatus();
}

Status Channel::Receive(std::span<std::byte> bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t received = ::recv(descriptor_, bytes.data(), bytes.size(), 0);
    if (received > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(received));
    } else if (received < 0 && IsWait(errno)) {
      SUBMIX_RETURN_IF_ERROR(Await(POLLIN, deadline));
    } else {
      return Gone();
    }
  }
  return base::OkStatus();
}

bool Channel::is_quiet() const {
  pollfd state{descriptor_, POLLIN | POLLRDHUP, 0};
  return ::poll(&state, 1, 0) == 0;
}

}  // namespace submix::external
