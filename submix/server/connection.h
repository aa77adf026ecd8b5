// One accepted socket, plain or TLS, as cpp-httplib wants it, with deadlines and limits that cover
// a whole request. For listener.cc alone.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include <httplib.h>

namespace submix::server {

// One thread at a time.
class Connection final : public httplib::Stream {
 public:
  using Clock = std::chrono::steady_clock;

  // Borrows both; `ssl` may be null.
  Connection(socket_t socket, SSL* ssl, std::chrono::milliseconds write_timeout);

  // Everything that is read until the next call arrives by `deadline` and is at most `bytes` long.
  void Allow(Clock::time_point deadline, std::size_t bytes);
  void SetDeadline(Clock::time_point deadline) { deadline_ = deadline; }
  // TLS only: false if the client does not manage by the deadline.
  bool Handshake();
  // The handshake failed because the client began to talk HTTP instead.
  bool SpeaksPlainHttp() const { return speaks_plain_http_; }
  // Beside TLS, where there is some.
  void SendPlain(const std::string& text);
  // Tells the other side that nothing was cut off.
  void EndTls();
  // Waits for the first byte of a request. False if none comes.
  bool AwaitByte(std::chrono::milliseconds patience);
  // The other side has closed the connection, or its half of it.
  bool PeerIsGone() const;
  // The rest of the request will not be read: the connection must end after the answer.
  void CloseAfterAnswer() { closes_ = true; }
  bool closes() const { return closes_; }
  // Lets the other side read the answer before its unread bytes would reset the connection.
  void Linger(std::chrono::milliseconds patience);

  // httplib::Stream
  bool is_readable() const override { return true; }
  bool is_writable() const override { return !PeerIsGone(); }
  ssize_t read(char* bytes, std::size_t size) override;
  ssize_t write(const char* bytes, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

 private:
  ssize_t Receive(char* bytes, std::size_t size, Clock::time_point deadline);
  // Repeats `attempt` until it moved bytes, failed or the deadline passed. Bytes moved, or -1.
  template <typename Attempt>
  ssize_t Retry(const Attempt& attempt, short events, Clock::time_point deadline);

  const socket_t socket_;
  SSL* const ssl_;
  const std::chrono::milliseconds write_timeout_;
  Clock::time_point deadline_;
  std::size_t allowed_ = 0;
  bool closes_ = false;
  bool speaks_plain_http_ = false;
  char buffer_[4096];
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace submix::server
