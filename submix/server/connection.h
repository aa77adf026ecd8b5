// One connection: reads requests one after another, has them answered, writes the answers. For the
// listener alone.
//
// Everything but the constructor, Start and Stop runs on the strand of its socket. Whoever makes it
// keeps it until on_end.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "submix/server/connection_seats.h"
#include "submix/server/http_framing.h"
#include "submix/server/listener.h"
#include "submix/server/pipeline_turns.h"
#include "submix/server/transport.h"

namespace submix::server {

// What the connections of a listener have in common.
struct ConnectionSurroundings {
  const ListenerOptions& options;
  HttpHandler& handler;
  ConnectionSeats& seats;
  PipelineTurns& pipelines;
  boost::asio::thread_pool& workers;
  std::function<void(class Connection&)> on_end;  // on the strand, once
  // Bytes of bodies that are being received or answered.
  std::atomic<std::size_t> body_bytes{0};
};

class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::unique_ptr<Transport> transport, ConnectionSurroundings& surroundings);
  ~Connection();

  // Takes its seat before it returns. Once, by any thread.
  void Start();
  // Ends it, once bytes that are being written have left. Any thread.
  void Stop();

 private:
  enum class Phase {
    kHandshake,
    kHead,     // waits for a request, or for the rest of its head
    kBody,     // for the rest of its body
    kWork,     // the handler has it, or its answer is not there yet
    kWrite,    // the last bytes of an answer leave
    kTurn,     // waits for its turn: its next request came before the answer had left
    kClosing,  // until the client has read the answer, and has closed
    kClosed,
  };
  using Error = boost::system::error_code;

  // Time.
  void SetTimer(std::chrono::milliseconds time);
  void StopTimer();
  void OnTimeout();

  // Bytes in.
  void Read();
  void OnRead(const Error& error, std::size_t bytes);
  // Reads on while a request is answered: to notice that the client goes away.
  void Watch();
  bool IsPeerGone();
  void OnHandshake(const Error& error);
  void AwaitRequest(std::chrono::milliseconds patience);
  void TakeHead();
  void OnHead(std::size_t size);
  // True: the request goes on.
  bool Admit();
  void AwaitBody();
  void TakeBody();
  // Counts what the body has grown by. False: too many bodies are in memory.
  bool CountBody();
  void MakeRoom();

  // Answers.
  void Handle();
  void OnResponse(HttpResponse response);
  void SetWaker();
  void Proceed();
  void Refuse(int status);
  void SendWhole();
  void SendPiece();
  void OnPieceWritten(const Error& error);
  void Write(std::string bytes, void (Connection::*then)(const Error&));
  void OnWritten(const Error& error);
  void OnContinued(const Error& error);
  void AwaitTurn();
  std::chrono::milliseconds IdleTime() const;

  // The end.
  void BeginClosing();
  void SendEnd();
  void Drain();
  void Close();

  const std::unique_ptr<Transport> transport_;
  ConnectionSurroundings& surroundings_;
  const ListenerOptions& options_;
  ConnectionSeats::Seat seat_;
  boost::asio::steady_timer timer_;

  Phase phase_ = Phase::kHandshake;
  int answered_ = 0;
  bool has_key_ = false;  // its client has shown one
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool has_peer_ended_ = false;
  bool closes_ = false;  // after the answer
  bool is_stopping_ = false;
  bool is_end_sent_ = false;
  std::atomic<bool> is_over_ = false;
  std::array<char, 4096> chunk_;  // what is being read into
  std::string in_;                // what was read and not taken yet
  HeadScanner scanner_;

  // Of the request:
  std::shared_ptr<HttpRequest> request_;
  std::optional<ChunkedBody> chunked_;
  std::uint64_t body_left_ = 0;
  std::size_t counted_body_ = 0;
  bool expects_continue_ = false;
  bool is_version_1_0_ = false;

  // Of its answer:
  HttpResponse response_;
  std::unique_ptr<UnfinishedAnswer> unfinished_;
  bool is_head_sent_ = false;
  bool is_complete_ = false;
  std::string out_;  // what is being written
};

}  // namespace submix::server
