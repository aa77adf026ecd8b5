#include "submix/server/connection.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <boost/asio/post.hpp>

#include "submix/base/check.h"
#include "submix/server/response_text.h"

namespace submix::server {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds kLinger{1'000};  // for an answer to bytes that nobody read
constexpr int kRequestsAConnection = 1'000;
// Read of the next request while one is answered, to notice that the client goes away.
constexpr std::size_t kReadAheadBytes = 16 << 10;
// Bodies in memory at a time, in whole ones of the largest size; many more small ones.
constexpr std::size_t kLargestBodies = 64;

// The rare exception is another library's: no memory.
template <typename Call>
auto Guarded(HttpHandler& handler, const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception&) {
    return handler.Error(500, {});
  }
}

}  // namespace

Connection::Connection(std::unique_ptr<Transport> transport, ConnectionSurroundings& surroundings)
    : transport_(std::move(transport)),
      surroundings_(surroundings),
      options_(surroundings.options),
      seat_([this] {
        // Called before the seat has left, so this is alive, but perhaps not for long.
        asio::post(timer_.get_executor(), [weak = weak_from_this()] {
          if (const auto self = weak.lock()) self->MakeRoom();
        });
      }),
      timer_(transport_->socket().get_executor()) {}

Connection::~Connection() {
  surroundings_.seats.Leave(seat_);
  surroundings_.body_bytes -= counted_body_;
}

void Connection::Start() {
  const bool has_seat = surroundings_.seats.Enter(seat_);
  if (has_seat) surroundings_.seats.Wait(seat_);
  asio::post(timer_.get_executor(), [self = shared_from_this(), has_seat] {
    if (self->phase_ == Phase::kClosed) return;  // it had to make room at once
    if (!has_seat) return self->Close();
    self->SetTimer(self->options_.header_timeout);
    self->transport_->Handshake(
        [self](const Error& error, std::size_t) { self->OnHandshake(error); });
  });
}

void Connection::Stop() {
  asio::post(timer_.get_executor(), [self = shared_from_this()] {
    self->is_stopping_ = self->closes_ = true;
    const bool last_bytes_leave = self->phase_ == Phase::kWrite || self->phase_ == Phase::kClosing;
    if (!last_bytes_leave) self->Close();
  });
}

void Connection::MakeRoom() {
  if (phase_ != Phase::kWork) return Close();
  closes_ = true;  // its request came in the meantime
}

void Connection::SetTimer(std::chrono::milliseconds time) {
  timer_.expires_after(time);
  timer_.async_wait([weak = weak_from_this()](const Error& error) {
    const auto self = weak.lock();
    // One that was set anew, after this was on its way here, has its time still to come.
    if (error || !self || self->timer_.expiry() > std::chrono::steady_clock::now()) return;
    self->OnTimeout();
  });
}

void Connection::StopTimer() { timer_.expires_at(std::chrono::steady_clock::time_point::max()); }

void Connection::OnTimeout() {
  const bool is_idle = phase_ == Phase::kHead && in_.empty();
  if (is_idle) return BeginClosing();
  if (is_writing_) return Close();  // who leaves bytes unread would not read a refusal either
  if (phase_ == Phase::kHead || phase_ == Phase::kBody) return Refuse(408);
  Close();
}

void Connection::Read() {
  if (is_reading_ || has_peer_ended_) return;
  is_reading_ = true;
  transport_->Read(asio::buffer(chunk_),
                   [self = shared_from_this()](const Error& error, std::size_t bytes) {
                     self->OnRead(error, bytes);
                   });
}

void Connection::OnRead(const Error& error, std::size_t bytes) {
  is_reading_ = false;
  has_peer_ended_ |= error.failed();
  if (phase_ == Phase::kClosing && is_end_sent_) return has_peer_ended_ ? Close() : Drain();
  if (phase_ == Phase::kClosed || phase_ == Phase::kClosing) return;
  const bool was_idle = in_.empty();
  in_.append(chunk_.data(), bytes);
  switch (phase_) {
    case Phase::kHead:
      if (was_idle && bytes > 0) SetTimer(options_.header_timeout);
      return TakeHead();
    case Phase::kBody:
      return TakeBody();
    default:
      // An answer that is still to come has nobody to read it; one that is complete may have.
      if (error && error != asio::error::eof) return Close();
      if (error && unfinished_ != nullptr && !is_complete_) return Close();
      Watch();
  }
}

void Connection::Watch() {
  if (in_.size() < kReadAheadBytes) Read();
}

bool Connection::IsPeerGone() {
  return has_peer_ended_ || (!is_reading_ && transport_->PeerIsGone());
}

void Connection::OnHandshake(const Error& error) {
  if (phase_ == Phase::kClosed) return;
  if (!error) return AwaitRequest(options_.header_timeout);
  if (!SpokePlainHttp(error)) return Close();
  HttpResponse wrong = surroundings_.handler.Error(400, {});
  wrong.body = "This port speaks HTTPS: use https:// in the address.\n";
  wrong.content_type = "text/plain";
  transport_->SendPlain(HeadText(wrong, BodyFraming::kLength, {}) + wrong.body);
  phase_ = Phase::kClosing;
  SetTimer(kLinger);
  SendEnd();
}

void Connection::AwaitRequest(std::chrono::milliseconds patience) {
  phase_ = Phase::kHead;
  scanner_.Reset();
  surroundings_.seats.Wait(seat_);
  if (in_.empty()) in_.shrink_to_fit();
  SetTimer(in_.empty() ? patience : options_.header_timeout);
  TakeHead();
}

void Connection::TakeHead() {
  const auto found = scanner_.Scan(in_);
  if (const auto* size = std::get_if<std::size_t>(&found)) return OnHead(*size);
  if (const auto* refusal = std::get_if<HeadRefusal>(&found)) return Refuse(*refusal);
  if (has_peer_ended_) return Close();
  Read();
}

void Connection::OnHead(std::size_t size) {
  auto read = ReadHead(std::string_view(in_).substr(0, size));
  surroundings_.seats.Work(seat_);
  if (const auto* refusal = std::get_if<HeadRefusal>(&read)) return Refuse(*refusal);
  auto& head = std::get<RequestHead>(read);
  request_ = std::make_shared<HttpRequest>();
  request_->method = head.method;
  request_->path = std::move(head.path);
  for (auto& [name, value] : head.fields) {
    request_->headers.emplace_back(std::move(name), value);
  }
  is_version_1_0_ = head.minor_version == 0;
  expects_continue_ = head.expects_continue;
  chunked_.reset();
  if (head.is_chunked) chunked_.emplace(options_.body_bytes);
  body_left_ = head.length.value_or(0);
  closes_ = is_stopping_ || !head.keeps_alive || answered_ + 1 == kRequestsAConnection;
  in_.erase(0, size);

  const bool takes_body = surroundings_.handler.TakesBody(*request_);
  const bool closed_before = closes_;
  closes_ |= head.has_body();  // whatever is answered before the body was read
  if (takes_body && !head.is_chunked && !head.length) return Refuse(411);
  if (takes_body && body_left_ > options_.body_bytes) return Refuse(413);
  if (!Admit()) return;
  if (!takes_body) return Handle();
  closes_ = closed_before;
  AwaitBody();
}

bool Connection::Admit() {
  HttpHandler& handler = surroundings_.handler;
  auto refusal = Guarded(handler, [&] { return handler.Refuse(*request_); });
  const Standing standing = request_->standing;
  const bool has_seat = standing == Standing::kKeyHolder
                            ? surroundings_.seats.ShowKey(seat_, request_->key)
                            : !surroundings_.seats.IsGuest(seat_);
  has_key_ |= has_seat && standing == Standing::kKeyHolder;
  if (!has_seat) {
    closes_ = true;
    if (!refusal && standing != Standing::kProbe) refusal = handler.Error(503, *request_);
  }
  if (!refusal) return true;
  OnResponse(*std::move(refusal));
  return false;
}

void Connection::AwaitBody() {
  phase_ = Phase::kBody;
  surroundings_.seats.Wait(seat_);
  SetTimer(options_.body_timeout);
  if (expects_continue_ && in_.empty()) {
    return Write("HTTP/1.1 100 Continue\r\n\r\n", &Connection::OnContinued);
  }
  TakeBody();
}

void Connection::OnContinued(const Error& error) {
  if (error) return Close();
  TakeBody();
}

void Connection::TakeBody() {
  if (is_writing_) return;  // the permission to send it
  auto progress = ChunkedBody::Progress::kMore;
  std::string_view bytes = in_;
  if (chunked_) {
    progress = chunked_->Take(bytes, request_->body);
  } else {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(body_left_, bytes.size()));
    request_->body.append(bytes.substr(0, size));
    bytes.remove_prefix(size);
    body_left_ -= size;
    if (body_left_ == 0) progress = ChunkedBody::Progress::kDone;
  }
  in_.erase(0, in_.size() - bytes.size());
  if (progress == ChunkedBody::Progress::kMalformed) return Refuse(400);
  if (progress == ChunkedBody::Progress::kTooLarge) return Refuse(413);
  if (!CountBody()) return Refuse(503);
  if (progress == ChunkedBody::Progress::kDone) return Handle();
  if (has_peer_ended_) return Close();
  Read();
}

bool Connection::CountBody() {
  const std::size_t grown = request_->body.size() - counted_body_;
  counted_body_ += grown;
  return (surroundings_.body_bytes += grown) <= kLargestBodies * options_.body_bytes;
}

void Connection::Handle() {
  phase_ = Phase::kWork;
  surroundings_.seats.Work(seat_);
  StopTimer();
  HttpHandler& handler = surroundings_.handler;
  if (!handler.TakesLong(*request_)) {
    return OnResponse(Guarded(handler, [&] { return handler.Handle(*request_); }));
  }
  asio::post(surroundings_.workers, [self = shared_from_this(), request = request_] {
    if (self->is_over_) return;
    HttpHandler& answering = self->surroundings_.handler;
    auto response = std::make_shared<HttpResponse>(
        Guarded(answering, [&] { return answering.Handle(*request); }));
    asio::post(self->timer_.get_executor(), [self, response] {
      if (self->phase_ == Phase::kWork) self->OnResponse(std::move(*response));
    });
  });
  Watch();
}

void Connection::OnResponse(HttpResponse response) {
  phase_ = Phase::kWork;
  request_->body = std::string();
  surroundings_.body_bytes -= std::exchange(counted_body_, 0);
  response_ = std::move(response);
  unfinished_ = std::move(response_.unfinished);
  is_head_sent_ = false;
  is_complete_ = unfinished_ == nullptr;
  if (is_complete_) return SendWhole();
  SetWaker();
  Proceed();
}

void Connection::SetWaker() {
  // Holds nothing that could end in the thread that wakes.
  const auto is_posted = std::make_shared<std::atomic<bool>>(false);
  unfinished_->SetWaker([weak = weak_from_this(), executor = timer_.get_executor(), is_posted] {
    if (is_posted->exchange(true)) return;
    asio::post(executor, [weak, is_posted] {
      *is_posted = false;
      if (const auto self = weak.lock()) self->Proceed();
    });
  });
}

void Connection::Proceed() {
  if (phase_ != Phase::kWork || is_writing_ || is_complete_ || unfinished_ == nullptr) return;
  try {
    is_complete_ = unfinished_->Proceed(response_);
  } catch (const std::exception&) {
    return Close();
  }
  if (response_.is_stream) return SendPiece();
  if (is_complete_) {
    unfinished_.reset();
    return SendWhole();
  }
  if (IsPeerGone()) return Close();
  Watch();
}

void Connection::Refuse(int status) {
  closes_ = true;
  if (request_ == nullptr) request_ = std::make_shared<HttpRequest>();
  OnResponse(surroundings_.handler.Error(status, *request_));
}

std::chrono::milliseconds Connection::IdleTime() const {
  return closes_ ? std::chrono::milliseconds(0) : options_.idle_timeout;
}

void Connection::SendWhole() {
  phase_ = Phase::kWrite;
  std::string text = HeadText(response_, BodyFraming::kLength, IdleTime());
  if (request_->method != "HEAD") text += response_.body;
  response_.body = std::string();
  Write(std::move(text), &Connection::OnWritten);
}

void Connection::SendPiece() {
  const bool chunks = !is_version_1_0_;
  closes_ |= !chunks;
  std::string text;
  if (!std::exchange(is_head_sent_, true)) {
    text =
        HeadText(response_, chunks ? BodyFraming::kChunks : BodyFraming::kUntilClose, IdleTime());
  }
  if (!response_.body.empty()) text += chunks ? ChunkText(response_.body) : response_.body;
  response_.body.clear();
  if (is_complete_) {
    phase_ = Phase::kWrite;
    if (chunks) text += kLastChunk;
  } else if (IsPeerGone()) {
    return Close();
  }
  if (!text.empty()) return Write(std::move(text), &Connection::OnPieceWritten);
  Watch();
}

void Connection::OnPieceWritten(const Error& error) {
  if (error || is_complete_) return OnWritten(error);
  StopTimer();
  Watch();
  Proceed();
}

void Connection::Write(std::string bytes, void (Connection::*then)(const Error&)) {
  SUBMIX_CHECK(!is_writing_, "bytes that are being written must stay until they have left");
  is_writing_ = true;
  out_ = std::move(bytes);
  if (phase_ != Phase::kBody) SetTimer(options_.write_timeout);
  if (phase_ == Phase::kWrite) surroundings_.seats.Wait(seat_);
  transport_->Write(asio::buffer(out_),
                    [self = shared_from_this(), then](const Error& error, std::size_t) {
                      self->is_writing_ = false;
                      if (self->phase_ != Phase::kClosed) (self.get()->*then)(error);
                    });
}

void Connection::OnWritten(const Error& error) {
  if (error) return Close();
  unfinished_.reset();
  response_ = HttpResponse();
  request_.reset();
  out_ = std::string();
  ++answered_;
  if (closes_) return BeginClosing();
  if (!in_.empty()) return AwaitTurn();
  AwaitRequest(options_.idle_timeout);
}

void Connection::AwaitTurn() {
  phase_ = Phase::kTurn;
  StopTimer();
  const auto turn = [weak = weak_from_this(), executor = timer_.get_executor()] {
    asio::post(executor, [weak] {
      const auto self = weak.lock();
      if (self && self->phase_ == Phase::kTurn) self->AwaitRequest(self->options_.idle_timeout);
    });
  };
  surroundings_.pipelines.Wait(has_key_, turn);
}

void Connection::BeginClosing() {
  phase_ = Phase::kClosing;
  surroundings_.seats.TakeLeave(seat_);
  SetTimer(kLinger);
  transport_->End([self = shared_from_this()](const Error&, std::size_t) {
    if (self->phase_ != Phase::kClosed) self->SendEnd();
  });
}

void Connection::SendEnd() {
  is_end_sent_ = true;
  Error ignored;
  transport_->socket().shutdown(Transport::Socket::shutdown_send, ignored);
  // Asio tells one read alone that the other side has closed, not a second one, nor a later one.
  if (has_peer_ended_) return Close();
  if (!is_reading_) Drain();
}

void Connection::Drain() {
  transport_->Drain([self = shared_from_this()](const Error&, std::size_t) { self->Close(); });
}

void Connection::Close() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  is_over_ = true;
  StopTimer();
  transport_->Close();
  unfinished_.reset();
  surroundings_.seats.Leave(seat_);
  surroundings_.on_end(*this);
}

}  // namespace submix::server
