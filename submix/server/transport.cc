#include "submix/server/transport.h"

#include <array>
#include <utility>

#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <openssl/err.h>
#include <poll.h>

namespace submix::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(Socket socket) : socket_(std::move(socket)) {}

  Socket& socket() override { return socket_; }
  void Handshake(Done done) override { done(error_code(), 0); }
  void Read(asio::mutable_buffer buffer, Done done) override {
    socket_.async_read_some(buffer, std::move(done));
  }
  void Write(asio::const_buffer bytes, Done done) override {
    asio::async_write(socket_, bytes, std::move(done));
  }
  void End(Done done) override { done(error_code(), 0); }

 private:
  Socket socket_;
};

class TlsTransport final : public Transport {
 public:
  TlsTransport(Socket socket, asio::ssl::context& context) : stream_(std::move(socket), context) {
    SSL_set_mode(stream_.native_handle(), SSL_MODE_RELEASE_BUFFERS);
  }

  Socket& socket() override { return stream_.next_layer(); }
  void Handshake(Done done) override {
    stream_.async_handshake(asio::ssl::stream_base::server,
                            [done = std::move(done)](const error_code& error) { done(error, 0); });
  }
  void Read(asio::mutable_buffer buffer, Done done) override {
    stream_.async_read_some(buffer, std::move(done));
  }
  void Write(asio::const_buffer bytes, Done done) override {
    asio::async_write(stream_, bytes, std::move(done));
  }
  void End(Done done) override {
    stream_.async_shutdown([done = std::move(done)](const error_code& error) { done(error, 0); });
  }

 private:
  asio::ssl::stream<Socket> stream_;
};

}  // namespace

void Transport::SendPlain(const std::string& text) {
  // What does not fit at once is a client that does not read: its loss.
  ::send(socket().native_handle(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Transport::Drain(Done done) {
  const auto bytes = std::make_shared<std::array<char, 4096>>();
  socket().async_read_some(
      asio::buffer(*bytes),
      [this, bytes, done = std::move(done)](const error_code& error, std::size_t size) mutable {
        if (error) return done(error, size);
        Drain(std::move(done));
      });
}

bool Transport::PeerIsGone() {
  pollfd state{socket().native_handle(), POLLRDHUP, 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void Transport::Close() {
  error_code ignored;
  socket().close(ignored);
}

std::unique_ptr<Transport> MakeTransport(Transport::Socket socket, asio::ssl::context* tls) {
  if (tls == nullptr) return std::make_unique<PlainTransport>(std::move(socket));
  return std::make_unique<TlsTransport>(std::move(socket), *tls);
}

bool SpokePlainHttp(const error_code& handshake_error) {
  return handshake_error.category() == asio::error::get_ssl_category() &&
         ERR_GET_REASON(static_cast<unsigned long>(handshake_error.value())) == SSL_R_HTTP_REQUEST;
}

}  // namespace submix::server
