// The other side of the logits protocol for tests: a thread that computes by a predictor of ours,
// and can do what nobody should.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <thread>

#include "submix/ensemble/predictor.h"

namespace submix::external {

enum class Fault {
  kNone,
  kHangUp,
  kHangUpWithinTheAnswer,
  kWrongLength,
  kSilence,
  kUnasked,
  kAnswersAStepLate,  // the first one twice
};

// Serves one connection after the other until it is destroyed.
class LogitsServer {
 public:
  struct Options {
    std::string socket;
    ensemble::Predictor* predictor = nullptr;  // the thread's alone
    std::string digest = std::string(64, 'd');
    std::string hello = {};  // instead of what is true
    bool is_float16 = false;
    Fault fault = Fault::kNone;  // of every step
  };

  explicit LogitsServer(Options options);
  ~LogitsServer();
  LogitsServer(const LogitsServer&) = delete;
  LogitsServer& operator=(const LogitsServer&) = delete;

  std::size_t open_sequences() const { return open_; }

 private:
  void Run();
  void Serve(int connection);
  // False: the connection is over.
  bool Answer(int connection, const std::string& message);
  std::string Logits(const std::string& message);
  std::string Hello() const;

  const Options options_;
  const int listener_;
  std::atomic<int> connection_ = -1;
  std::atomic<bool> is_ending_ = false;
  std::atomic<std::size_t> open_ = 0;
  std::string late_answer_;
  std::map<std::int64_t, ensemble::SequenceId> sequences_;  // from their ids to the predictor's
  std::thread thread_;
};

}  // namespace submix::external
