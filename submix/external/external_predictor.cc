#include "submix/external/external_predictor.h"

#include <map>
#include <utility>
#include <vector>

#include "submix/base/json_object.h"
#include "submix/base/worker_team.h"
#include "submix/ensemble/predictor_checks.h"
#include "submix/external/channel.h"
#include "submix/external/protocol.h"
#include "submix/model/half_float.h"

namespace submix::external {
namespace {

using base::Status;
using base::StatusOr;
using ensemble::SequenceId;

Status CheckHello(const Hello& hello, const ExternalPredictorOptions& expected) {
  const auto refuse = [&](const std::string& found, const std::string& wanted) {
    return base::FailedPreconditionError(expected.socket + ": computes " + found + ", expected " +
                                         wanted);
  };
  if (hello.digest != expected.digest) {
    return refuse("the ensemble " + base::Quoted(hello.digest), "\"" + expected.digest + "\"");
  }
  if (hello.rows != 1 + expected.num_members) {
    return refuse(
        std::to_string(hello.rows) + " rows of logits",
        std::to_string(1 + expected.num_members) + ": the public model's and the members'");
  }
  if (hello.vocabulary != expected.vocabulary) {
    return refuse("logits of " + std::to_string(hello.vocabulary) + " tokens",
                  std::to_string(expected.vocabulary));
  }
  if (!hello.tokenizer.empty() && !expected.tokenizer.empty() &&
      hello.tokenizer != expected.tokenizer) {
    return refuse("with the tokenizer " + base::Quoted(hello.tokenizer),
                  "\"" + expected.tokenizer + "\"");
  }
  return base::OkStatus();
}

struct Connection {
  std::unique_ptr<Channel> channel;
  Hello hello;
};

StatusOr<Connection> Connect(const ExternalPredictorOptions& options) {
  Connection connection;
  SUBMIX_ASSIGN_OR_RETURN(connection.channel, Channel::Connect(options.socket));
  Channel& channel = *connection.channel;
  const auto deadline = Channel::Clock::now() + options.patience;
  MessageLength length = 0;
  SUBMIX_RETURN_IF_ERROR(channel.Receive(std::as_writable_bytes(std::span(&length, 1)), deadline));
  if (length > kLongestHello) {
    return base::FailedPreconditionError(options.socket + ": does not speak the logits protocol");
  }
  std::string text(length, ' ');
  SUBMIX_RETURN_IF_ERROR(channel.Receive(std::as_writable_bytes(std::span(text)), deadline));
  SUBMIX_ASSIGN_OR_RETURN(connection.hello, ParseHello(text, options.socket));
  SUBMIX_RETURN_IF_ERROR(CheckHello(connection.hello, options));
  return connection;
}

class ExternalPredictor final : public ensemble::Predictor {
 public:
  ExternalPredictor(const ExternalPredictorOptions& options, Connection connection)
      : options_(options),
        context_(connection.hello.context),
        channel_(std::move(connection.channel)),
        is_float16_(connection.hello.is_float16),
        team_(options.threads) {}

  int num_members() const override { return options_.num_members; }
  int vocab_size() const override { return options_.vocabulary; }
  int context_length() const override { return context_; }

  SequenceId Open() override {
    lengths_[++last_sequence_] = 0;
    return last_sequence_;
  }

  void Close(SequenceId sequence) override {
    const bool is_known_there = lengths_[sequence] > 0;
    lengths_.erase(sequence);
    if (channel_ == nullptr || !is_known_there) return;
    if (!Send(StepMessage(++step_, {&sequence, 1}, {}), Deadline()).ok()) Disconnect();
  }

  Status Step(std::span<const Append> appends, std::span<float> logits) override {
    const auto length_of = [&](SequenceId sequence) {
      const auto found = lengths_.find(sequence);
      return found == lengths_.end() ? -1 : found->second;
    };
    SUBMIX_RETURN_IF_ERROR(ensemble::CheckAppends(*this, appends, logits.size(), length_of));
    if (appends.empty()) return base::OkStatus();
    const Status status = Ask(appends, logits);
    if (!status.ok()) {
      Disconnect();
      return status;
    }
    for (const Append& append : appends) lengths_[append.sequence] += std::ssize(append.tokens);
    return base::OkStatus();
  }

  Status Score(std::span<const base::TokenId> tokens, std::size_t first,
               const PositionSink& sink) override {
    SUBMIX_RETURN_IF_ERROR(ensemble::CheckDocument(*this, tokens, first));
    const SequenceId sequence = Open();
    const Status status = Score(sequence, tokens, first, sink);
    Close(sequence);
    return status;
  }

  Status Recover() override {
    if (channel_ != nullptr && channel_->is_quiet()) return base::OkStatus();
    Disconnect();
    SUBMIX_ASSIGN_OR_RETURN(Connection connection, Connect(options_));
    if (connection.hello.context != context_) {
      return base::FailedPreconditionError(
          options_.socket + ": has a context of " + std::to_string(connection.hello.context) +
          " now, and had one of " + std::to_string(context_) + "; start the server again");
    }
    channel_ = std::move(connection.channel);
    is_float16_ = connection.hello.is_float16;
    return base::OkStatus();
  }

  void ForEach(int count, const std::function<void(int)>& body) override {
    team_.ForEach(count, body);
  }

 private:
  Channel::Clock::time_point Deadline() const { return Channel::Clock::now() + options_.patience; }

  // The sequences there are gone with the connection.
  void Disconnect() {
    channel_ = nullptr;
    lengths_.clear();
  }

  Status Send(const std::string& message, Channel::Clock::time_point deadline) {
    const MessageLength length = message.size();
    SUBMIX_RETURN_IF_ERROR(channel_->Send(std::as_bytes(std::span(&length, 1)), deadline));
    return channel_->Send(std::as_bytes(std::span(message)), deadline);
  }

  Status Ask(std::span<const Append> appends, std::span<float> logits) {
    if (channel_ == nullptr) {
      return base::UnavailableError(options_.socket +
                                    ": the process that computes the logits is away");
    }
    if (!channel_->is_quiet()) {
      return base::UnavailableError(options_.socket +
                                    ": closed the connection, or sent bytes before it was asked");
    }
    const auto deadline = Deadline();
    SUBMIX_RETURN_IF_ERROR(Send(StepMessage(++step_, {}, appends), deadline));
    SUBMIX_RETURN_IF_ERROR(ReceiveNumber(
        "bytes", sizeof(StepNumber) + logits.size() * (is_float16_ ? 2 : 4), deadline));
    // Else what came is an earlier step's: logits of other sequences.
    SUBMIX_RETURN_IF_ERROR(ReceiveNumber("the number of the step", step_, deadline));
    if (!is_float16_) {
      return channel_->Receive(std::as_writable_bytes(logits), deadline);
    }
    halves_.resize(logits.size());
    SUBMIX_RETURN_IF_ERROR(channel_->Receive(std::as_writable_bytes(std::span(halves_)), deadline));
    for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = model::FloatFromHalf(halves_[i]);
    return base::OkStatus();
  }

  // The next number of an answer.
  Status ReceiveNumber(const char* what, std::uint64_t expected,
                       Channel::Clock::time_point deadline) {
    std::uint64_t found = 0;
    SUBMIX_RETURN_IF_ERROR(
        channel_->Receive(std::as_writable_bytes(std::span(&found, 1)), deadline));
    if (found == expected) return base::OkStatus();
    return base::UnavailableError(options_.socket + ": answered a step with " +
                                  std::to_string(found) + " as " + what + ", expected " +
                                  std::to_string(expected));
  }

  Status Score(SequenceId sequence, std::span<const base::TokenId> tokens, std::size_t first,
               const PositionSink& sink) {
    std::vector<float> logits(static_cast<std::size_t>(1 + num_members()) *
                              static_cast<std::size_t>(vocab_size()));
    for (std::size_t read = 0, t = first; t < tokens.size(); read = t++) {
      const Append append{sequence, tokens.subspan(read, t - read)};
      SUBMIX_RETURN_IF_ERROR(Step({&append, 1}, logits));
      SUBMIX_RETURN_IF_ERROR(sink(t, logits));
    }
    return base::OkStatus();
  }

  const ExternalPredictorOptions options_;
  const int context_;
  std::unique_ptr<Channel> channel_;  // null: none
  bool is_float16_;
  StepNumber step_ = 0;  // the newest one's: never used again, on another connection either
  SequenceId last_sequence_ = 0;
  std::map<SequenceId, std::int64_t> lengths_;  // tokens of each open sequence
  std::vector<std::uint16_t> halves_;           // an answer in float16
  base::WorkerTeam team_;
};

}  // namespace

StatusOr<std::unique_ptr<ensemble::Predictor>> ConnectPredictor(
    const ExternalPredictorOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(Connection connection, Connect(options));
  return std::unique_ptr<ensemble::Predictor>(
      std::make_unique<ExternalPredictor>(options, std::move(connection)));
}

}  // namespace submix::external
