// What a client of OpenAI's API asks, as native values: the bodies of POST /v1/completions and
// /v1/chat/completions.
//
// Whatever would reveal or steer a pmf outside the accounting (contract 5) is refused with an error
// that says why. Fields that are refused count as absent when they are null, false, 0, "", [] or
// {}: clients send those by default.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "submix/base/ids.h"
#include "submix/chat/chat_format.h"
#include "submix/engine/request.h"
#include "submix/shape/shape.h"

namespace submix::server {

enum class Endpoint { kCompletions, kChat };

// An error as a client sees it. It never depends on private data.
struct ApiError {
  int status = 400;  // of HTTP
  std::string message = {};
  std::string param = {};  // the field at fault; empty: none
  std::string code = {};   // empty: none
  std::string type = "invalid_request_error";
};

// The shape of the answers, and the field that asks for it.
struct AskedShape {
  shape::ShapeRequest request;
  std::string param;
};

using Conversation = std::vector<chat::ChatMessage>;
using Prompt = std::variant<std::string, std::vector<base::TokenId>, Conversation>;

// One HTTP request: prompts.size() * n completions, each drawn and charged for itself.
struct CompletionCall {
  Endpoint endpoint = Endpoint::kCompletions;
  std::string model;
  std::vector<Prompt> prompts;  // at least one; none is empty; of a chat, one conversation
  int n = 1;                    // completions a prompt
  bool has_max_tokens = false;
  std::optional<AskedShape> shape = {};
  engine::Request settings;  // all but prompt and shape, and max_tokens where the client gave none
  bool stream = false;
  bool include_usage = false;  // of a stream
};

struct ParseOptions {
  bool strict_fields = true;  // refuse fields that are not known here, else ignore them
  int max_choices = 64;       // most prompts * n
};

// Reads a body. Hostile bytes are expected: at most 32 levels and 2^17 values, no key twice in an
// object, no NUL byte, valid UTF-8, numbers within range. Thread-safe; work and memory are linear
// in the body.
std::variant<CompletionCall, ApiError> ParseCall(Endpoint endpoint, std::string_view body,
                                                 const ParseOptions& options);

}  // namespace submix::server
