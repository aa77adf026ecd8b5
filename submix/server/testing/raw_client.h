// A client on a bare socket, for tests: it can send anything, stop anywhere and hang up.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace submix::server {

struct RawAnswer {
  int status = 0;  // 0: no answer came
  std::string head;
  std::string body;  // chunks put together
};

class RawClient {
 public:
  explicit RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ =
        ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  explicit RawClient(const std::string& unix_socket) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    unix_socket.copy(address.sun_path, sizeof address.sun_path - 1);
    connected_ =
        ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawClient() { HangUp(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  // False if the server has closed the connection.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void CloseSendingHalf() { ::shutdown(socket_, SHUT_WR); }
  void HangUp() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  // The server has closed the connection, or does so within ten seconds; nothing is read.
  bool HasServerEnded() {
    pollfd ended{socket_, POLLRDHUP, 0};
    return ::poll(&ended, 1, 10'000) > 0;
  }
  // What comes next, at most `patience`. Empty: nothing came, or the connection ended.
  std::string Read(std::chrono::milliseconds patience) {
    pollfd readable{socket_, POLLIN, 0};
    if (::poll(&readable, 1, static_cast<int>(patience.count())) <= 0) return "";
    std::string bytes(1 << 16, '\0');
    const ssize_t size = ::recv(socket_, bytes.data(), bytes.size(), 0);
    bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return bytes;
  }
  // Until the server closes the connection, or `patience` passes without a byte.
  std::string ReadAll(std::chrono::milliseconds patience = std::chrono::seconds(20)) {
    std::string all;
    for (std::string bytes = Read(patience); !bytes.empty(); bytes = Read(patience)) all += bytes;
    return all;
  }

 private:
  int socket_;
  bool connected_ = false;
};

inline std::string WithoutChunks(std::string_view body) {
  std::string text;
  while (!body.empty()) {
    const std::size_t size =
        std::stoul(std::string(body.substr(0, body.find("\r\n"))), nullptr, 16);
    body.remove_prefix(body.find("\r\n") + 2);
    text += body.substr(0, size);
    if (size == 0 || body.size() < size + 2) break;
    body.remove_prefix(size + 2);
  }
  return text;
}

inline RawAnswer ParseAnswer(std::string bytes) {
  RawAnswer answer;
  if (bytes.starts_with("HTTP/1.1 100")) bytes.erase(0, bytes.find("\r\n\r\n") + 4);
  const std::size_t end = bytes.find("\r\n\r\n");
  if (!bytes.starts_with("HTTP/1.1 ") || end == std::string::npos) return answer;
  answer.status = std::stoi(bytes.substr(9, 3));
  answer.head = bytes.substr(0, end);
  answer.body = bytes.substr(end + 4);
  if (answer.head.find("Transfer-Encoding: chunked") != std::string::npos) {
    answer.body = WithoutChunks(answer.body);
  }
  return answer;
}

// A whole request. `key` empty: without one.
inline std::string RequestText(std::string_view method, std::string_view path,
                               std::string_view body, std::string_view key = "",
                               std::string_view more_headers = "") {
  std::string text = std::string(method) + " " + std::string(path) +
                     " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
                     std::string(more_headers);
  if (!key.empty()) text += "Authorization: Bearer " + std::string(key) + "\r\n";
  if (!body.empty()) {
    text +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  }
  return text + "\r\n" + std::string(body);
}

inline RawAnswer Ask(int port, const std::string& request) {
  RawClient client(port);
  client.Send(request);
  return ParseAnswer(client.ReadAll());
}

inline RawAnswer Post(int port, std::string_view path, std::string_view body,
                      std::string_view key = "", std::string_view more_headers = "") {
  return Ask(port, RequestText("POST", path, body, key, more_headers));
}

inline RawAnswer Get(int port, std::string_view path, std::string_view key = "") {
  return Ask(port, RequestText("GET", path, "", key));
}

}  // namespace submix::server
