#include "submix/external/testing/logits_server.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "submix/base/check.h"
#include "submix/ensemble/predictor_checks.h"
#include "submix/model/half_float.h"

namespace submix::external {
namespace {

int Listen(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  SUBMIX_CHECK(path.size() < sizeof(address.sun_path), "a path that fits");
  std::ranges::copy(path, address.sun_path);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  SUBMIX_CHECK(
      ::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
          ::listen(listener, 4) == 0,
      "a socket to listen at");
  return listener;
}

bool SendAll(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool ReceiveAll(int connection, void* bytes, std::size_t count) {
  return count == 0 || ::recv(connection, bytes, count, MSG_WAITALL) == static_cast<ssize_t>(count);
}

std::string NumberBytes(std::uint64_t number) {
  std::string bytes(sizeof(number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

template <typename Number>
Number Take(std::string_view& bytes) {
  SUBMIX_CHECK(bytes.size() >= sizeof(Number), "a message that is long enough");
  Number number;
  std::memcpy(&number, bytes.data(), sizeof(Number));
  bytes.remove_prefix(sizeof(Number));
  return number;
}

std::string BytesOf(std::span<const float> numbers, bool is_float16) {
  std::string bytes(numbers.size() * (is_float16 ? 2 : 4), '\0');
  if (numbers.empty()) return bytes;
  if (!is_float16) {
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    return bytes;
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint16_t half = model::HalfFromFloat(numbers[i]);
    std::memcpy(bytes.data() + 2 * i, &half, sizeof(half));
  }
  return bytes;
}

}  // namespace

LogitsServer::LogitsServer(Options options)
    : options_(std::move(options)),
      listener_(Listen(options_.socket)),
      thread_([this] { Run(); }) {}

LogitsServer::~LogitsServer() {
  is_ending_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  if (const int connection = connection_; connection >= 0) ::shutdown(connection, SHUT_RDWR);
  thread_.join();
  ::close(listener_);
  ::unlink(options_.socket.c_str());
}

void LogitsServer::Run() {
  while (!is_ending_) {
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    connection_ = connection;
    Serve(connection);
    connection_ = -1;
    ::close(connection);
    for (const auto& [id, sequence] : sequences_) options_.predictor->Close(sequence);
    sequences_.clear();
    open_ = 0;
  }
}

std::string LogitsServer::Hello() const {
  if (!options_.hello.empty()) return options_.hello;
  const ensemble::Predictor& predictor = *options_.predictor;
  return "{\"protocol\": 2, \"rows\": " + std::to_string(1 + predictor.num_members()) +
         ", \"vocabulary\": " + std::to_string(predictor.vocab_size()) +
         ", \"context\": " + std::to_string(predictor.context_length()) + ", \"type\": \"" +
         (options_.is_float16 ? "float16" : "float32") + "\", \"digest\": \"" + options_.digest +
         "\"}";
}

void LogitsServer::Serve(int connection) {
  const std::string hello = Hello();
  if (!SendAll(connection, NumberBytes(hello.size()) + hello)) return;
  while (!is_ending_) {
    std::uint64_t length = 0;
    if (!ReceiveAll(connection, &length, sizeof(length))) return;
    std::string message(length, '\0');
    if (!ReceiveAll(connection, message.data(), message.size())) return;
    if (!Answer(connection, message)) return;
  }
}

std::string LogitsServer::Logits(const std::string& message) {
  std::string_view bytes = message;
  const auto step = Take<std::uint64_t>(bytes);
  const auto closed = Take<std::uint32_t>(bytes);
  const auto count = Take<std::uint32_t>(bytes);
  for (std::uint32_t i = 0; i < closed; ++i) {
    const auto id = Take<std::int64_t>(bytes);
    options_.predictor->Close(sequences_.at(id));
    sequences_.erase(id);
  }
  std::vector<std::vector<base::TokenId>> tokens(count);
  std::vector<ensemble::Predictor::Append> appends;
  for (std::vector<base::TokenId>& appended : tokens) {
    const auto id = Take<std::int64_t>(bytes);
    if (!sequences_.contains(id)) sequences_[id] = options_.predictor->Open();
    const bool predicts = Take<std::uint32_t>(bytes) == 1;
    appended.resize(Take<std::uint32_t>(bytes));
    for (base::TokenId& token : appended) token = Take<std::int32_t>(bytes);
    appends.push_back({sequences_[id], appended, predicts});
  }
  SUBMIX_CHECK(bytes.empty(), "nothing after the message");
  open_ = sequences_.size();
  std::vector<float> logits(ensemble::CountPredicting(appends) *
                            static_cast<std::size_t>(1 + options_.predictor->num_members()) *
                            static_cast<std::size_t>(options_.predictor->vocab_size()));
  if (appends.empty()) return "";
  SUBMIX_CHECK(options_.predictor->Step(appends, logits).ok(), "steps that were checked");
  const std::string body = BytesOf(logits, options_.is_float16);
  return NumberBytes(sizeof(step) + body.size()) + NumberBytes(step) + body;
}

bool LogitsServer::Answer(int connection, const std::string& message) {
  std::string answer = Logits(message);
  if (answer.empty()) return true;
  char byte = 0;
  switch (options_.fault) {
    case Fault::kNone:
      return SendAll(connection, answer);
    case Fault::kHangUp:
      return false;
    case Fault::kHangUpWithinTheAnswer:
      SendAll(connection, answer.substr(0, answer.size() - 1));
      return false;
    case Fault::kWrongLength:
      answer[0] = static_cast<char>(answer[0] + 1);
      return SendAll(connection, answer + "x");
    case Fault::kSilence:
      return ::recv(connection, &byte, 1, 0) > 0;  // until the other side goes
    case Fault::kUnasked:
      return SendAll(connection, answer + "x");
    case Fault::kAnswersAStepLate:
      std::swap(answer, late_answer_);
      return SendAll(connection, answer.empty() ? late_answer_ : answer);
  }
  return false;
}

}  // namespace submix::external
