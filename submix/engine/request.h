// What a client asks of the engine, in native types: no HTTP, no JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "submix/base/ids.h"
#include "submix/engine/answer_end.h"
#include "submix/mechanism/mapped_predictions.h"
#include "submix/shape/token_automaton.h"

namespace submix::engine {

// One completion. Every field is public in the sense of the threat model: chosen by the client.
struct Request {
  std::vector<base::TokenId> prompt;  // at least one token; prompt + max_tokens fit the context
  int max_tokens = 16;                // >= 1
  mechanism::SamplingOptions sampling;
  std::vector<std::string> stop;  // the text ends before the first of these; none is empty
  // Tokens that end the answer, beside the model's own; none of them is text.
  std::vector<base::TokenId> end_tokens = {};
  // The answer's text has this shape, but where `stop` cuts it short. Null: any text. By the
  // engine's own CompileShape.
  std::shared_ptr<const shape::TokenAutomaton> shape = {};
  // Instead of a shape: the answer is one of these tokens, ascending. Empty: any.
  std::vector<base::TokenId> one_of = {};

  bool is_shaped() const { return shape != nullptr || !one_of.empty(); }
};

// What one engine step added to one request.
struct TokenEvent {
  std::int64_t request_id = 0;
  std::optional<base::TokenId> token = {};  // none: it ends without, kExhausted or kNoPrediction
  // Text that is certain now: bytes that may still become part of a stop string, or that are an
  // unfinished UTF-8 character, are held back.
  std::string text;
  AnswerEnd end = AnswerEnd::kNotYet;
};

}  // namespace submix::engine
