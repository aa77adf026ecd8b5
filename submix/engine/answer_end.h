// Soundness does not depend on this file: it says how answers end, and releases nothing.
#pragma once

#include "submix/base/status.h"

namespace submix::engine {

// How an answer ends. What a server says, if no token went out before, in parentheses.
enum class AnswerEnd {
  kNotYet,
  kStop,       // a token that ends it, or a stop string (200)
  kMaxTokens,  // as many tokens as asked for (200)
  kCancelled,  // its client hung up
  kDeadline,   // the submission's deadline has passed (504)
  // The deployment's fixed number of tokens is used up, and it declares that it then refuses: no
  // request will be answered any more (429 insufficient_quota).
  kExhausted,
  kStopped,  // Drain's deadline came first (503)
  kFailed,   // the engine or the ledger failed: no token without a durable charge (503)
  // The public model's numbers for this sequence are not finite; nothing was charged, others are
  // not concerned (500). A member that is broken is silent instead.
  kNoPrediction,
};

// What the client is told. Ok for kNotYet, kStop and kMaxTokens; for the others nothing private
// and no path: kFailedPrecondition for kExhausted, kInternal for kNoPrediction, else kUnavailable.
base::Status StatusOf(AnswerEnd end);

}  // namespace submix::engine
