#include "submix/server/listener.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_set>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <sys/socket.h>

#include "submix/server/connection.h"
#include "submix/server/listening_socket.h"
#include "submix/server/tls_context.h"

namespace submix::server {
namespace {

namespace asio = boost::asio;
using base::Status;
using boost::system::error_code;

constexpr int kWorkers = 4;                             // parse, encode, wait for a quota's write
constexpr int kAcceptsATime = 16;                       // a millisecond's worth
constexpr int kTurnsToBeRead = 64;                      // that who has sent something has, and more
constexpr std::chrono::milliseconds kAcceptPause{100};  // where the system has no descriptors
constexpr std::chrono::milliseconds kLastBytesTime{1'000};  // of answers, when the listener stops

// Few: none of them waits for anything, and each that wakes takes a processor from the models.
unsigned IoThreads() { return std::clamp(std::thread::hardware_concurrency() / 2, 1U, 4U); }

}  // namespace

class Listener::Sockets {
 public:
  Sockets(const ListenerOptions& options, HttpHandler& handler)
      : options_(options),
        seats_(options.connections, options.kept_for_keys),
        surroundings_{options_,   handler,  seats_,
                      pipelines_, workers_, [this](Connection& connection) { Forget(connection); }},
        workers_(kWorkers) {}
  ~Sockets() { Stop(); }

  Status Start() {
    if (!options_.certificate.empty()) {
      SUBMIX_RETURN_IF_ERROR(
          LoadTlsFiles(*tls_.emplace(asio::ssl::context::tls_server).native_handle(),
                       options_.certificate, options_.private_key));
    }
    SUBMIX_ASSIGN_OR_RETURN(const ListeningSocket socket, OpenListeningSocket(options_));
    port_ = socket.port;
    acceptor_.assign({socket.family, 0}, socket.descriptor);
    acceptor_.non_blocking(true);
    Accept();
    for (unsigned i = 0; i < IoThreads(); ++i) threads_.emplace_back([this] { Run(); });
    return base::OkStatus();
  }

  int port() const { return port_; }

  void Stop() {
    if (threads_.empty()) return;
    asio::post(acceptor_.get_executor(), [this] {
      error_code ignored;
      acceptor_.close(ignored);
      pause_.cancel();
    });
    {
      std::unique_lock lock(mutex_);
      is_stopping_ = true;
      for (const auto& connection : connections_) connection->Stop();
      changed_.wait_for(lock, kLastBytesTime, [this] { return connections_.empty(); });
    }
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    workers_.stop();
    workers_.join();
    // Ends what a handler left unfinished.
    const std::lock_guard lock(mutex_);
    connections_.clear();
  }

 private:
  using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;

  void Run() {
    for (;;) {
      try {
        io_.run();
        return;
      } catch (const std::exception&) {
        // No memory for one handler: the connection's time-out ends what it was about.
      }
    }
  }

  void Accept() {
    auto socket = std::make_shared<Transport::Socket>(asio::make_strand(io_));
    acceptor_.async_accept(*socket, [this, socket](const error_code& error) {
      if (!acceptor_.is_open()) return;
      if (!error) {
        Serve(std::move(*socket));
        AcceptMore();
      } else if (error != asio::error::connection_aborted) {
        return PauseAccepting();
      }
      Accept();
    });
  }

  // Those that wait come a few at a time, not one behind all that is busy; but where each takes
  // another's seat so few that what those have sent meanwhile is read first. The last free seat is
  // left to the next turn: who comes then would take that of one who was accepted in this one.
  void AcceptMore() {
    const int takers = (options_.connections - options_.kept_for_keys) / kTurnsToBeRead;
    for (int i = 1; i < kAcceptsATime && (i < takers || seats_.room() > 1); ++i) {
      error_code error;
      Transport::Socket socket(asio::make_strand(io_));
      acceptor_.accept(socket, error);
      if (error) return;  // none waits, or the next asynchronous one finds out what is wrong
      Serve(std::move(socket));
    }
  }

  void PauseAccepting() {
    seats_.FreeOne();
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this](const error_code&) {
      if (acceptor_.is_open()) Accept();
    });
  }

  void Serve(Transport::Socket socket) {
    error_code ignored;
    if (options_.unix_socket.empty()) socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    auto connection = std::make_shared<Connection>(
        MakeTransport(std::move(socket), tls_ ? &*tls_ : nullptr), surroundings_);
    {
      const std::lock_guard lock(mutex_);
      if (is_stopping_) return;
      connections_.insert(connection);
    }
    connection->Start();
  }

  void Forget(Connection& connection) {
    const std::lock_guard lock(mutex_);
    if (connections_.erase(connection.shared_from_this()) > 0) changed_.notify_all();
  }

  const ListenerOptions options_;
  ConnectionSeats seats_;
  ConnectionSurroundings surroundings_;  // outlives the connections that handlers still hold
  std::optional<asio::ssl::context> tls_;
  asio::io_context io_;
  PipelineTurns pipelines_{io_};  // goes first: who waits in it holds on to io_
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(io_);
  asio::thread_pool workers_;
  Acceptor acceptor_{asio::make_strand(io_)};
  asio::steady_timer pause_{acceptor_.get_executor()};
  int port_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  bool is_stopping_ = false;

  std::vector<std::thread> threads_;
};

Listener::Listener(std::unique_ptr<Sockets> sockets) : sockets_(std::move(sockets)) {}
Listener::~Listener() = default;

std::string HttpRequest::header(std::string_view name) const {
  std::string joined;
  bool is_first = true;
  for (const auto& [each, value] : headers) {
    if (each != name) continue;
    if (!std::exchange(is_first, false)) joined += ", ";
    joined += value;
  }
  return joined;
}

bool HttpRequest::has_header(std::string_view name) const {
  return std::ranges::any_of(headers, [&](const auto& header) { return header.first == name; });
}

base::StatusOr<std::unique_ptr<Listener>> Listener::Start(const ListenerOptions& options,
                                                          HttpHandler& handler) {
  auto sockets = std::make_unique<Sockets>(options, handler);
  SUBMIX_RETURN_IF_ERROR(sockets->Start());
  return std::unique_ptr<Listener>(new Listener(std::move(sockets)));
}

int Listener::port() const { return sockets_->port(); }

void Listener::Stop() { sockets_->Stop(); }

}  // namespace submix::server
