// A predictor whose logits another process computes, over a Unix socket (docs/logits_protocol.md).
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "submix/base/status.h"
#include "submix/ensemble/predictor.h"

namespace submix::external {

struct ExternalPredictorOptions {
  std::string socket;
  int num_members = 0;
  int vocabulary = 0;
  std::string digest;     // of the ensemble, 64 hex digits
  std::string tokenizer;  // SHA-256 of its file, which the process may say; empty: whatever it says
  // How long it may take for a step, and for saying who it is. > 0.
  std::chrono::nanoseconds patience = std::chrono::minutes(1);
  int threads = 1;  // for ForEach, >= 1
};

// A predictor that asks the process which listens at the socket. Its Step, Score and Recover fail
// with kUnavailable while that is away, after it has broken the protocol, and when it is late: all
// sequences are gone then, their ids unknown, and only Recover connects again. Errors, of Recover
// too: kUnavailable if nobody listens; kFailedPrecondition if what answers computes another
// ensemble; kInvalidArgument for a path that is too long, and for what ParseHello refuses.
base::StatusOr<std::unique_ptr<ensemble::Predictor>> ConnectPredictor(
    const ExternalPredictorOptions& options);

}  // namespace submix::external
