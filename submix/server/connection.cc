#include "submix/server/connection.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

namespace submix::server {
namespace {

int MillisecondsUntil(Connection::Clock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Connection::Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count() + 1, 0, 1 << 30));
}

}  // namespace

Connection::Connection(socket_t socket, SSL* ssl, std::chrono::milliseconds write_timeout)
    : socket_(socket), ssl_(ssl), write_timeout_(write_timeout) {
  ::fcntl(socket_, F_SETFL, ::fcntl(socket_, F_GETFL, 0) | O_NONBLOCK);
  if (ssl_ != nullptr) SSL_set_fd(ssl_, socket_);
}

void Connection::Allow(Clock::time_point deadline, std::size_t bytes) {
  deadline_ = deadline;
  allowed_ = bytes;
}

template <typename Attempt>
ssize_t Connection::Retry(const Attempt& attempt, short events, Clock::time_point deadline) {
  while (Clock::now() < deadline) {
    errno = 0;
    const ssize_t moved = attempt();
    if (moved > 0) return moved;
    pollfd wanted{socket_, events, 0};
    if (ssl_ != nullptr) {
      const int error = SSL_get_error(ssl_, static_cast<int>(moved));
      speaks_plain_http_ |= ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST;
      ERR_clear_error();
      if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return -1;
      wanted.events = error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    } else if (moved == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
      return -1;
    }
    ::poll(&wanted, 1, MillisecondsUntil(deadline));
  }
  return -1;
}

bool Connection::Handshake() {
  return ssl_ == nullptr ||
         Retry([&] { return static_cast<ssize_t>(SSL_accept(ssl_)); }, POLLIN, deadline_) > 0;
}

void Connection::SendPlain(const std::string& text) {
  // What does not fit at once is a client that does not read: its loss.
  ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Connection::EndTls() {
  if (ssl_ == nullptr) return;
  SSL_shutdown(ssl_);
  ERR_clear_error();
}

ssize_t Connection::Receive(char* bytes, std::size_t size, Clock::time_point deadline) {
  return Retry(
      [&]() -> ssize_t {
        return ssl_ != nullptr ? SSL_read(ssl_, bytes, static_cast<int>(size))
                               : ::recv(socket_, bytes, size, 0);
      },
      POLLIN, deadline);
}

bool Connection::AwaitByte(std::chrono::milliseconds patience) {
  if (begin_ < end_) return true;
  const ssize_t received = Receive(buffer_, sizeof buffer_, Clock::now() + patience);
  begin_ = 0;
  end_ = received > 0 ? static_cast<std::size_t>(received) : 0;
  return received > 0;
}

ssize_t Connection::read(char* bytes, std::size_t size) {
  if (allowed_ == 0) return -1;
  if (begin_ == end_ && !AwaitByte(std::chrono::milliseconds(MillisecondsUntil(deadline_)))) {
    return -1;
  }
  const std::size_t taken = std::min({size, end_ - begin_, allowed_});
  std::memcpy(bytes, buffer_ + begin_, taken);
  begin_ += taken;
  allowed_ -= taken;
  return static_cast<ssize_t>(taken);
}

ssize_t Connection::write(const char* bytes, std::size_t size) {
  if (size == 0) return 0;
  return Retry(
      [&]() -> ssize_t {
        return ssl_ != nullptr ? SSL_write(ssl_, bytes, static_cast<int>(size))
                               : ::send(socket_, bytes, size, MSG_NOSIGNAL);
      },
      POLLOUT, Clock::now() + write_timeout_);
}

bool Connection::PeerIsGone() const {
  pollfd state{socket_, POLLRDHUP, 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void Connection::Linger(std::chrono::milliseconds patience) {
  ::shutdown(socket_, SHUT_WR);
  const Clock::time_point deadline = Clock::now() + patience;
  pollfd state{socket_, POLLIN, 0};
  while (::poll(&state, 1, MillisecondsUntil(deadline)) > 0 && Clock::now() < deadline &&
         ::recv(socket_, buffer_, sizeof buffer_, 0) > 0) {
  }
}

// Who calls is never asked nor logged.
void Connection::get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const {}
void Connection::get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const {}

}  // namespace submix::server
