// HTTP/1.1 over TCP, TLS or a Unix socket, without saying which library speaks it.
//
// One thread a connection, at most `connections` of them: the next one is told 503 at once. A
// client has a limited time for the whole of its header, and of its body; a byte now and then does
// not keep a thread. A client that hangs up, or closes its side of the connection, is gone.
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

struct HttpRequest {
  std::string method;
  std::string path;  // without the query
  std::string body;  // of POST to a path with a body
  // What Refuse leaves for Handle of the same request; empty without a body.
  std::any admission = {};
  // The value of a header, in whatever case its name was sent; empty if there is none.
  std::function<std::string(std::string_view name)> header;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  // If set, the body is a stream: this is called, and what it puts into `chunk` is sent (nothing:
  // not yet), until it returns false. It is destroyed as soon as the client is gone.
  std::function<bool(std::string& chunk)> stream = {};
};

// What answers. Thread-safe.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // The paths to which a body may be posted.
  virtual std::vector<std::string> BodyPaths() const = 0;
  // Called before a body is read. A response: the body is not read, the connection ends. Else what
  // it puts into head.admission comes back with the whole request.
  virtual std::optional<HttpResponse> Refuse(HttpRequest& head) = 0;
  // `client_is_gone` may be asked while this works.
  virtual HttpResponse Handle(const HttpRequest& request,
                              const std::function<bool()>& client_is_gone) = 0;
  // The answer where the request does not reach Handle: malformed, too large, too many connections.
  virtual HttpResponse Error(int status) = 0;
};

struct ListenerOptions {
  std::string host = "127.0.0.1";
  int port = 0;             // 0: any free one
  std::string unix_socket;  // if given, instead of host and port; mode 0600
  std::string certificate;  // PEM files; both or none: TLS
  std::string private_key;
  int connections = 128;
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
  virtual ~Listener() = default;

  virtual int port() const = 0;
  // Takes no connection any more and waits for the answers that are under way: streams are cut at
  // their next chunk. May be called once more.
  virtual void Stop() = 0;
};

}  // namespace submix::server
