// What is answered, in OpenAI's shapes: completions, chats, the chunks of their streams, models and
// errors. One usage for text of the public model and of the mixture, no system_fingerprint, no
// log-probabilities: nothing here depends on private data but the text itself, which was paid for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "submix/engine/request.h"
#include "submix/server/openai_request.h"

namespace submix::server {

// {"error": {"message", "type", "param", "code"}}
std::string ErrorBody(const ApiError& error);
// The same as an event of a stream whose header has left already.
std::string ErrorEvent(const ApiError& error);
// The last event of a stream.
inline constexpr std::string_view kDoneEvent = "data: [DONE]\n\n";

// Tokens drawn, each of which was charged.
struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
};

struct Choice {
  int index = 0;
  std::string text = {};
  engine::AnswerEnd end = engine::AnswerEnd::kNotYet;
};

// Writes the answer of one call. Immutable.
class ResponseWriter {
 public:
  // `id` is random and public, `created` in seconds since 1970. `include_usage`: a stream ends with
  // its usage, and every chunk before names one that is null.
  ResponseWriter(Endpoint endpoint, std::string_view id, std::int64_t created, std::string model,
                 bool include_usage);

  // What the answer calls itself.
  const std::string& id() const { return id_; }
  // The whole answer of a call that does not stream.
  std::string Whole(std::span<const Choice> choices, const Usage& usage) const;
  // Events of a stream: what opens a choice (empty for completions), what one token added to it,
  // the usage of all (empty if it is not included).
  std::string OpeningEvent(int index) const;
  std::string Event(const Choice& choice) const;
  std::string UsageEvent(const Usage& usage) const;

 private:
  const Endpoint endpoint_;
  const std::string id_;
  const std::int64_t created_;
  const std::string model_;
  const bool include_usage_;
};

// GET /v1/models and /v1/models/{model}.
std::string ModelListBody(std::string_view model, std::int64_t created);
std::string ModelBody(std::string_view model, std::int64_t created);

}  // namespace submix::server
