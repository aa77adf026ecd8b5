// HTTP/1.1 over TCP, TLS or a Unix socket, without saying which library moves the bytes.
//
// A few threads for any number of connections; one that waits costs kilobytes. A client has a
// limited time for the whole of its header, and of its body, however it drips them. What is
// malformed (http_framing.h) is answered once, and the connection ends. A client that hangs up, or
// closes its side of the connection, is gone: what cannot be answered at once is not.
#pragma once

#include <any>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "submix/base/status.h"

namespace submix::server {

// What a client is, as far as its requests have shown.
enum class Standing {
  kUnknown,    // may have to make room for others
  kProbe,      // asks for the state of the server: is always answered
  kKeyHolder,  // has shown a valid key: part of the connections is kept for those
};

struct HttpRequest {
  std::string method;
  std::string path;  // as it was sent, without the query
  std::vector<std::pair<std::string, std::string>> headers = {};  // names in lower case
  std::string body = {};                                          // if the handler takes it
  // What Refuse leaves for Handle of the same request.
  std::any admission = {};
  Standing standing = Standing::kUnknown;
  std::string key = {};  // the key's id; who holds most connections makes room for others

  // The value of a header, `name` in lower case; those of several lines with ", " between them;
  // empty if there is none.
  std::string header(std::string_view name) const;
  bool has_header(std::string_view name) const;
};

// Of the random name that an answer has in logs, for its client and for the operator. It says
// nothing: neither how many answers there were nor when.
inline constexpr std::size_t kIdBytes = 12;

struct HttpResponse;

// An answer that is not there yet, or not all of it. One thread at a time. It is destroyed after
// its last byte was sent, or as soon as the client is gone.
class UnfinishedAnswer {
 public:
  virtual ~UnfinishedAnswer() = default;
  // From now on `wake` is called, by any thread, whenever Proceed may have more. It does not block.
  virtual void SetWaker(std::function<void()> wake) = 0;
  // Puts what has come into `response`: of a stream, the next bytes into its body, and is called
  // again once they have left; of another, all of it, once all is there. True: that was the end.
  // Does not wait, nor leave what has come where it puts nothing: the next wake may be the last.
  virtual bool Proceed(HttpResponse& response) = 0;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::unique_ptr<UnfinishedAnswer> unfinished = nullptr;
  bool is_stream = false;  // of an unfinished one: header and pieces are sent as they come
};

// What answers. Thread-safe.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // Whether the request's body is read; where it is not, and there is one, the connection ends.
  virtual bool TakesBody(const HttpRequest& head) const = 0;
  // Called with every header, before a body is read, by a thread that must not be held up. A
  // response: the body is not read, the connection ends if there is one. Else what it puts into
  // head.admission comes back with the whole request. Says head.standing, and head.key, in either
  // case.
  virtual std::optional<HttpResponse> Refuse(HttpRequest& head) = 0;
  // Whether Handle of this request may take longer than a moment: then a worker does it.
  virtual bool TakesLong(const HttpRequest& request) const = 0;
  virtual HttpResponse Handle(const HttpRequest& request) = 0;
  // The answer where the request does not reach Handle: malformed, too large, too many connections.
  // An empty `head`: it is not known, or Refuse or Handle failed at it.
  virtual HttpResponse Error(int status, const HttpRequest& head) = 0;
};

struct ListenerOptions {
  std::string host = "127.0.0.1";
  int port = 0;                  // 0: any free one
  std::string unix_socket;       // if given, instead of host and port; mode 0600
  std::string certificate = {};  // PEM files; both or none: TLS
  std::string private_key = {};
  int connections = 4'096;
  int kept_for_keys = 0;  // of them, for clients that have shown a key
  std::size_t body_bytes = 1 << 20;
  std::chrono::milliseconds header_timeout{10'000};  // of the whole header
  std::chrono::milliseconds body_timeout{30'000};    // of the whole body
  std::chrono::milliseconds write_timeout{30'000};   // until the client takes what is sent
  std::chrono::milliseconds idle_timeout{5'000};     // between the requests of a connection
};

class Listener {
 public:
  // Answers from now on, in threads of its own. `handler` must outlive it. Errors: kUnavailable if
  // the address is taken; those of LoadTlsFiles (tls_context.h).
  static base::StatusOr<std::unique_ptr<Listener>> Start(const ListenerOptions& options,
                                                         HttpHandler& handler);
  ~Listener();

  int port() const;
  // Takes no connection any more, ends those that wait and cuts streams; bytes of other answers
  // have a moment to leave. May be called once more.
  void Stop();

 private:
  class Sockets;  // Asio's types stay out of headers
  explicit Listener(std::unique_ptr<Sockets> sockets);

  const std::unique_ptr<Sockets> sockets_;
};

}  // namespace submix::server
