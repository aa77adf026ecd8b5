// One accepted socket, plain or in TLS. For the listener alone: it shows Asio's types.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/system/error_code.hpp>

namespace submix::server {

// Used by one strand, that of its socket: `done` is called there. One Read and one Write at a time.
// `done` must hold what keeps the transport alive.
class Transport {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using Done = std::function<void(const boost::system::error_code&, std::size_t bytes)>;

  virtual ~Transport() = default;

  virtual Socket& socket() = 0;
  virtual void Handshake(Done done) = 0;
  // Some bytes.
  virtual void Read(boost::asio::mutable_buffer buffer, Done done) = 0;
  // All of them; `bytes` must live until then.
  virtual void Write(boost::asio::const_buffer bytes, Done done) = 0;
  // Tells the other side that nothing was cut off.
  virtual void End(Done done) = 0;

  // Beside TLS, where there is some: what fits at once.
  void SendPlain(const std::string& text);
  // Reads and forgets, beside TLS too, until the other side closes.
  void Drain(Done done);
  // The other side has closed the connection, or its half of it.
  bool PeerIsGone();
  void Close();
};

// `tls` null: plain.
std::unique_ptr<Transport> MakeTransport(Transport::Socket socket, boost::asio::ssl::context* tls);
// The client began to talk HTTP where TLS was expected.
bool SpokePlainHttp(const boost::system::error_code& handshake_error);

}  // namespace submix::server
