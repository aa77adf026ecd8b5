#include "submix/server/listener.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <thread>

#include <httplib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "submix/server/connection.h"
#include "submix/server/tls_context.h"

namespace submix::server {
namespace {

using base::Status;
using base::StatusOr;

constexpr std::size_t kHeaderBytes = 64 << 10;
constexpr int kBacklog = 512;                        // httplib's own 5 makes bursts wait a second
constexpr std::chrono::milliseconds kLinger{1'000};  // for an answer to bytes that nobody read
constexpr std::size_t kRequestsAConnection = 1'000;

// The connection that this thread serves; httplib does not hand its stream to handlers.
thread_local Connection* served = nullptr;
// What Refuse left for the request whose body is read.
thread_local std::any admission;
// Set while the accepting thread turns a connection away.
thread_local bool is_turning_away = false;

HttpRequest Native(const httplib::Request& request) {
  HttpRequest native;
  native.method = request.method;
  native.path = request.path;
  native.header = [&request](std::string_view name) {
    return request.get_header_value(std::string(name));
  };
  return native;
}

void Fill(HttpResponse&& from, httplib::Response& to) {
  to.status = from.status;
  for (const auto& [name, value] : from.headers) to.set_header(name, value);
  if (!from.stream) {
    to.set_content(from.body, from.content_type);
    return;
  }
  to.set_chunked_content_provider(
      from.content_type, [stream = std::move(from.stream)](std::size_t, httplib::DataSink& sink) {
        std::string chunk;
        const bool more = stream(chunk);
        if (!chunk.empty() && !sink.write(chunk.data(), chunk.size())) return false;
        if (!more) sink.done();
        return !more || !served->PeerIsGone();
      });
}

// Never more connections than threads; one too many is turned away by the accepting thread.
class ConnectionThreads final : public httplib::TaskQueue {
 public:
  explicit ConnectionThreads(int count)
      : count_(count), threads_(static_cast<std::size_t>(count)) {}

  void enqueue(std::function<void()> serve) override {
    if (busy_.fetch_add(1) < count_) {
      return threads_.enqueue([this, serve = std::move(serve)] {
        serve();
        --busy_;
      });
    }
    --busy_;
    is_turning_away = true;
    serve();
    is_turning_away = false;
  }
  void shutdown() override { threads_.shutdown(); }

 private:
  const int count_;
  std::atomic<int> busy_{0};
  httplib::ThreadPool threads_;
};

// httplib leaves no error where the name of the host was the problem.
std::string WhyNotBound(int error) {
  switch (error) {
    case 0:
    case EADDRNOTAVAIL:
      return "this machine has no such address";
    case EADDRINUSE:
      return "another program listens there; choose another port";
    case EACCES:
      return "not allowed; ports below 1024 are root's, or a proxy's";
    default:
      return std::strerror(error);
  }
}

// httplib's parser and writer on our connections: it has time-outs for each read only.
template <typename Base>
class Server final : public Base {
 public:
  template <typename... Arguments>
  Server(const ListenerOptions& options, HttpHandler& handler, const Arguments&... arguments)
      : Base(arguments...), options_(options), handler_(handler) {
    this->new_task_queue = [this] { return new ConnectionThreads(options_.connections); };
    this->set_keep_alive_max_count(kRequestsAConnection);
    this->set_keep_alive_timeout(
        std::chrono::duration_cast<std::chrono::seconds>(options_.idle_timeout).count());
    this->set_payload_max_length(options_.body_bytes);
    this->set_tcp_nodelay(options_.unix_socket.empty());
    this->set_pre_routing_handler([this](const httplib::Request& from, httplib::Response& to) {
      return BeforeBody(from, to);
    });
    for (const std::string& path : handler.BodyPaths()) {
      this->Post(path, [this](const httplib::Request& from, httplib::Response& to,
                              const httplib::ContentReader& reader) { Body(from, to, reader); });
    }
    this->set_error_handler([this](const httplib::Request&, httplib::Response& to) {
      if (to.body.empty()) Fill(handler_.Error(to.status), to);
    });
    this->set_exception_handler(
        [this](const httplib::Request&, httplib::Response& to, const std::exception_ptr&) {
          Fill(handler_.Error(500), to);
        });
  }

  Status Bind(int& port) {
    const bool is_unix = !options_.unix_socket.empty();
    if (is_unix) this->set_address_family(AF_UNIX);
    const std::string& host = is_unix ? options_.unix_socket : options_.host;
    if (is_unix && std::filesystem::is_socket(host)) ::unlink(host.c_str());
    const mode_t mask = is_unix ? ::umask(0177) : 0;
    bool bound = true;
    errno = 0;
    if (!is_unix && options_.port == 0) {
      port = this->bind_to_any_port(host);
      bound = port > 0;
    } else {
      port = is_unix ? 0 : options_.port;
      bound = this->bind_to_port(host, is_unix ? 1 : port);
    }
    const int error = errno;
    if (is_unix) ::umask(mask);
    if (!bound) {
      return base::UnavailableError("cannot listen on " + host +
                                    (is_unix ? "" : ":" + std::to_string(options_.port)) + ": " +
                                    WhyNotBound(error));
    }
    ::listen(this->svr_sock_, kBacklog);
    return base::OkStatus();
  }

 private:
  // GET and the like are answered here; so is whatever must not have its body read.
  httplib::Server::HandlerResponse BeforeBody(const httplib::Request& from, httplib::Response& to) {
    HttpRequest head = Native(from);
    const auto paths = handler_.BodyPaths();
    if (from.method == "POST" && std::ranges::find(paths, from.path) != paths.end()) {
      auto refusal = RefuseBody(from);
      if (!refusal) refusal = handler_.Refuse(head);
      if (!refusal) {
        admission = std::move(head.admission);
        served->SetDeadline(Connection::Clock::now() + options_.body_timeout);
        return httplib::Server::HandlerResponse::Unhandled;
      }
      served->CloseAfterAnswer();
      Fill(std::move(*refusal), to);
    } else {
      if (from.has_header("Content-Length") || from.has_header("Transfer-Encoding")) {
        served->CloseAfterAnswer();
      }
      Fill(handler_.Handle(head, [] { return served->PeerIsGone(); }), to);
    }
    if (served->closes()) to.set_header("Connection", "close");
    return httplib::Server::HandlerResponse::Handled;
  }

  // Encoded bodies could unpack to any size, and forms in parts are not for this API.
  std::optional<HttpResponse> RefuseBody(const httplib::Request& from) {
    const std::string encoding = from.get_header_value("Content-Encoding");
    if ((!encoding.empty() && encoding != "identity") ||
        from.get_header_value("Content-Type").starts_with("multipart/")) {
      return handler_.Error(415);
    }
    const bool has_length = from.has_header("Content-Length");
    const std::string transfer = from.get_header_value("Transfer-Encoding");
    if (transfer.empty() && !has_length) return handler_.Error(411);
    // Two lengths are how requests are smuggled past a proxy.
    if (!transfer.empty() && (has_length || transfer != "chunked")) return handler_.Error(400);
    if (from.get_header_value<std::uint64_t>("Content-Length") > options_.body_bytes) {
      return handler_.Error(413);
    }
    return std::nullopt;
  }

  void Body(const httplib::Request& from, httplib::Response& to,
            const httplib::ContentReader& reader) {
    HttpRequest request = Native(from);
    request.admission = std::move(admission);
    bool is_too_large = false;
    const bool complete = reader([&](const char* bytes, std::size_t size) {
      is_too_large = request.body.size() + size > options_.body_bytes;
      if (!is_too_large) request.body.append(bytes, size);
      return !is_too_large;
    });
    if (!complete) {
      served->CloseAfterAnswer();
      to.set_header("Connection", "close");
      const bool is_late = !is_too_large && !served->PeerIsGone();
      return Fill(handler_.Error(is_too_large ? 413 : is_late ? 408 : 400), to);
    }
    Fill(handler_.Handle(request, [] { return served->PeerIsGone(); }), to);
  }

  bool process_and_close_socket(socket_t socket) override {
    constexpr bool kIsTls = std::is_same_v<Base, httplib::SSLServer>;
    SSL* ssl = nullptr;
    if constexpr (kIsTls) ssl = SSL_new(this->ssl_context());
    if (!kIsTls || ssl != nullptr) {  // without memory for TLS: nothing, above all not plain text
      Connection connection(socket, ssl, options_.write_timeout);
      if (is_turning_away) {
        TurnAway(connection, kIsTls);
      } else {
        served = &connection;
        ServeRequests(connection);
        served = nullptr;
      }
    }
    SSL_free(ssl);
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return true;
  }

  void ServeRequests(Connection& connection) {
    connection.Allow(Connection::Clock::now() + options_.header_timeout, kHeaderBytes);
    if (!connection.Handshake()) {
      if (connection.SpeaksPlainHttp()) RefusePlainHttp(connection);
      return;
    }
    std::chrono::milliseconds patience = options_.header_timeout;
    for (std::size_t left = kRequestsAConnection; left > 0 && Await(connection, patience); --left) {
      connection.Allow(Connection::Clock::now() + options_.header_timeout,
                       kHeaderBytes + 2 * options_.body_bytes);  // chunks have their own lines
      bool closed = false;
      if (!this->process_request(connection, left == 1, closed, nullptr) || closed) break;
      if (connection.closes()) break;
      patience = options_.idle_timeout;
    }
    connection.EndTls();
    if (connection.closes()) connection.Linger(kLinger);
  }

  void RefusePlainHttp(Connection& connection) {
    HttpResponse wrong = handler_.Error(400);
    wrong.body = "This port speaks HTTPS: use https:// in the address.\n";
    wrong.content_type = "text/plain";
    connection.SendPlain(Text(wrong, "400 Bad Request"));
    connection.Linger(kLinger);
  }

  // Looks up now and then: an idle connection must not delay a stop.
  bool Await(Connection& connection, std::chrono::milliseconds patience) {
    constexpr std::chrono::milliseconds kSlice{100};
    for (; patience.count() > 0; patience -= kSlice) {
      if (this->svr_sock_ == INVALID_SOCKET || connection.PeerIsGone()) break;
      if (connection.AwaitByte(std::min(patience, kSlice))) return true;
    }
    // A client that has sent its request and then closed its half is answered where that is quick.
    return connection.AwaitByte(std::chrono::milliseconds(1));
  }

  void TurnAway(Connection& connection, bool is_tls) {
    if (is_tls) return;  // no time for a handshake here
    connection.SendPlain(Text(handler_.Error(503), "503 Service Unavailable"));
  }

  // A whole answer, where httplib writes none.
  static std::string Text(const HttpResponse& response, const std::string& status) {
    std::string text = "HTTP/1.1 " + status +
                       "\r\nConnection: close\r\nContent-Type: " + response.content_type +
                       "\r\nContent-Length: " + std::to_string(response.body.size()) + "\r\n";
    for (const auto& [name, value] : response.headers) text += name + ": " + value + "\r\n";
    return text + "\r\n" + response.body;
  }

  const ListenerOptions options_;
  HttpHandler& handler_;
};

template <typename Base>
class ServingListener final : public Listener {
 public:
  template <typename... Arguments>
  explicit ServingListener(const ListenerOptions& options, HttpHandler& handler,
                           const Arguments&... arguments)
      : server_(options, handler, arguments...) {}
  ~ServingListener() override { Stop(); }

  bool is_valid() const { return server_.is_valid(); }
  Status Start() {
    SUBMIX_RETURN_IF_ERROR(server_.Bind(port_));
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
    return base::OkStatus();
  }
  int port() const override { return port_; }
  void Stop() override {
    if (!thread_.joinable()) return;
    server_.stop();
    thread_.join();
  }

 private:
  Server<Base> server_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace

StatusOr<std::unique_ptr<Listener>> Listener::Start(const ListenerOptions& options,
                                                    HttpHandler& handler) {
  if (options.certificate.empty()) {
    auto listener = std::make_unique<ServingListener<httplib::Server>>(options, handler);
    SUBMIX_RETURN_IF_ERROR(listener->Start());
    return std::unique_ptr<Listener>(std::move(listener));
  }
  Status tls = base::InternalError("TLS: OpenSSL has no memory for a context");
  const std::function<bool(SSL_CTX&)> load = [&](SSL_CTX& context) {
    tls = LoadTlsFiles(context, options.certificate, options.private_key);
    return tls.ok();
  };
  auto listener = std::make_unique<ServingListener<httplib::SSLServer>>(options, handler, load);
  if (!listener->is_valid()) return tls;
  SUBMIX_RETURN_IF_ERROR(listener->Start());
  return std::unique_ptr<Listener>(std::move(listener));
}

}  // namespace submix::server
