#include "submix/server/openai_request.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "submix/base/json_structure.h"
#include "submix/server/shape_fields.h"

namespace submix::server {
namespace {

using nlohmann::json;

// As many prompts as a request may have, of as many token ids as models read, twice.
constexpr base::JsonLimits kLimits{.depth = 32, .values = 1 << 17};
constexpr std::size_t kMaxStops = 4;
constexpr std::size_t kMaxStopBytes = 256;  // finding a partial stop is quadratic in its length

// --- Bytes to JSON

ApiError BadJson(const std::string& why) {
  return {.message = "The body is not the JSON object that was expected: " + why + "."};
}

std::variant<json, ApiError> ParseObject(std::string_view body) {
  // Two readers of one body must not see two requests.
  const base::JsonStructure structure = base::ReadJsonStructure(body, kLimits);
  if (structure.nul_byte) return BadJson("it holds a NUL byte");
  if (structure.is_too_deep) return BadJson("it is nested too deeply");
  if (structure.has_too_many_values) {
    return BadJson("it holds more than " + std::to_string(kLimits.values) + " values");
  }
  if (structure.duplicate_key) return BadJson("a key is given twice");
  json object;
  try {
    object = json::parse(body);
  } catch (const json::parse_error& error) {
    return BadJson("it cannot be read at byte " + std::to_string(error.byte));
  } catch (const json::exception&) {
    return BadJson("a number is out of range");
  }
  if (!object.is_object()) return BadJson("it is no object");
  return object;
}

// --- Fields

struct RefusedField {
  std::string_view name;
  std::string_view why;
};

constexpr RefusedField kRefused[] = {
    {"logprobs", "log-probabilities would reveal the private mixture outside its accounting"},
    {"top_logprobs", "log-probabilities would reveal the private mixture outside its accounting"},
    {"seed", "the randomness of a draw is part of the privacy guarantee and cannot be chosen"},
    {"logit_bias", "it would steer the private mixture outside its accounting"},
    {"presence_penalty", "it would steer the private mixture outside its accounting"},
    {"frequency_penalty", "it would steer the private mixture outside its accounting"},
    {"suffix", "the models of this deployment only continue a text"},
    {"echo", "put the prompt before the answer yourself"},
    {"tools", "the models of this deployment call no tools"},
    {"tool_choice", "the models of this deployment call no tools"},
    {"functions", "the models of this deployment call no tools"},
    {"function_call", "the models of this deployment call no tools"},
    {"parallel_tool_calls", "the models of this deployment call no tools"},
    {"audio", "text only"},
    {"prediction", "nothing here would heed it"},
    {"reasoning_effort", "nothing here would heed it"},
    {"web_search_options", "nothing here would heed it"},
};

// Read below, or without effect here: they name the end user or the kind of service.
constexpr std::string_view kRead[] = {"model",
                                      "prompt",
                                      "messages",
                                      "n",
                                      "best_of",
                                      "max_tokens",
                                      "max_completion_tokens",
                                      "stream",
                                      "stream_options",
                                      "stop",
                                      "top_k",
                                      "top_k_plus",
                                      "top_p",
                                      "temperature",
                                      "modalities"};
constexpr std::string_view kIgnored[] = {"user",         "metadata",          "store",
                                         "service_tier", "safety_identifier", "prompt_cache_key"};

// Reads fields one by one and keeps the first error.
class FieldReader {
 public:
  FieldReader(const json& object, std::string_view body, const ParseOptions& options,
              CompletionCall& call)
      : object_(object), body_(body), options_(options), call_(call) {}

  std::optional<ApiError> Read() {
    CheckNames();
    ReadModel();
    ReadChoices();
    ReadSampling();
    ReadLength();
    ReadStop();
    ReadStream();
    ReadFormat();
    if (call_.endpoint == Endpoint::kChat) {
      ReadMessages();
    } else {
      ReadPrompt();
    }
    CheckSize();
    return std::move(error_);
  }

 private:
  void Fail(std::string_view param, std::string message, std::string code = "") {
    if (error_) return;
    error_ = ApiError{
        .message = std::move(message), .param = std::string(param), .code = std::move(code)};
  }

  // Null if the field is missing or null.
  const json* Find(std::string_view name) const {
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  // Null also for what counts as absent.
  const json* FindSet(std::string_view name) const {
    const json* value = Find(name);
    return value == nullptr || CountsAsAbsent(*value) ? nullptr : value;
  }

  void FailUnknown(const std::string& name) {
    const std::string shown = name.substr(0, 64);
    Fail(shown, "Unrecognized request argument supplied: " + shown, "unknown_parameter");
  }

  void CheckNames() {
    for (const RefusedField& field : kRefused) {
      const json* value = FindSet(field.name);
      if (value == nullptr) continue;
      if (field.name == "tool_choice" && *value == "none") continue;
      Fail(field.name,
           "'" + std::string(field.name) + "' is not supported: " + std::string(field.why) + ".",
           "unsupported_parameter");
    }
    if (!options_.strict_fields) return;
    for (const auto& item : object_.items()) {
      const auto is = [&](std::string_view name) { return item.key() == name; };
      if (std::ranges::any_of(kRead, is) || std::ranges::any_of(kIgnored, is)) continue;
      if (std::ranges::any_of(kShapeFields, is)) continue;
      if (std::ranges::any_of(kRefused, is, &RefusedField::name)) continue;
      FailUnknown(item.key());
    }
  }

  void ReadModel() {
    const json* model = Find("model");
    if (model == nullptr || !model->is_string()) {
      return Fail("model", "You must provide a model: GET /v1/models lists what is served here.");
    }
    call_.model = model->get<std::string>();
  }

  // Leaves `value` alone if the field is absent. True if it was there and in [low, high].
  bool ReadInteger(std::string_view name, std::int64_t low, std::int64_t high, int& value) {
    const json* field = Find(name);
    if (field == nullptr) return false;
    const bool fits = field->is_number_unsigned()
                          ? field->get<std::uint64_t>() <= static_cast<std::uint64_t>(high) &&
                                static_cast<std::int64_t>(field->get<std::uint64_t>()) >= low
                          : field->is_number_integer() && field->get<std::int64_t>() >= low &&
                                field->get<std::int64_t>() <= high;
    if (!fits) {
      Fail(name, "'" + std::string(name) + "' must be an integer between " + std::to_string(low) +
                     " and " + std::to_string(high) + ".");
      return false;
    }
    value = field->get<int>();
    return true;
  }

  void ReadNumber(std::string_view name, double& value) {
    const json* field = Find(name);
    if (field == nullptr) return;
    if (!field->is_number()) return Fail(name, "'" + std::string(name) + "' must be a number.");
    value = field->get<double>();
  }

  bool ReadFlag(const json& object, std::string_view name, std::string_view param) {
    const auto field = object.find(name);
    if (field == object.end() || field->is_null()) return false;
    if (field->is_boolean()) return field->get<bool>();
    Fail(param, "'" + std::string(param) + "' must be true or false.");
    return false;
  }

  void ReadChoices() {
    ReadInteger("n", 1, options_.max_choices, call_.n);
    if (FindSet("best_of") == nullptr) return;
    int best_of = call_.n;
    ReadInteger("best_of", 1, std::numeric_limits<int>::max(), best_of);
    if (best_of > call_.n) {
      Fail("best_of",
           "'best_of' may not be more than 'n': every draw is charged, so every draw is given to "
           "you.",
           "unsupported_parameter");
    } else if (best_of < call_.n) {
      Fail("best_of", "'best_of' must be at least 'n'.");
    }
  }

  void ReadSampling() {
    mechanism::SamplingOptions& sampling = call_.settings.sampling;
    ReadNumber("temperature", sampling.temperature);
    ReadNumber("top_p", sampling.top_p);
    ReadInteger("top_k", 0, std::numeric_limits<int>::max(), sampling.top_k);
    ReadInteger("top_k_plus", 0, std::numeric_limits<int>::max(), sampling.top_k_plus);
    if (!(sampling.temperature > 0 && sampling.temperature <= 2)) {
      Fail("temperature",
           "'temperature' must be more than 0 and at most 2: the likeliest token of a private "
           "mixture would be a release without noise. A small value such as 0.1 sharpens every "
           "model before mixing.");
    }
    if (!(sampling.top_p > 0 && sampling.top_p <= 1)) {
      Fail("top_p", "'top_p' must be more than 0 and at most 1.");
    }
  }

  void ReadLength() {
    constexpr int kMost = 1 << 30;
    int& value = call_.settings.max_tokens;
    call_.has_max_tokens = ReadInteger("max_tokens", 1, kMost, value);
    if (call_.endpoint == Endpoint::kCompletions) {
      if (Find("max_completion_tokens") != nullptr) {
        Fail("max_completion_tokens",
             "'max_completion_tokens' is a field of chats; use "
             "'max_tokens'.");
      }
      return;
    }
    int of_chat = value;
    if (!ReadInteger("max_completion_tokens", 1, kMost, of_chat)) return;
    if (call_.has_max_tokens && of_chat != value) {
      Fail("max_completion_tokens", "'max_tokens' and 'max_completion_tokens' differ: give one.");
    }
    call_.has_max_tokens = true;
    value = of_chat;
  }

  void ReadStop() {
    const json* stop = Find("stop");
    if (stop == nullptr) return;
    const json list = stop->is_array() ? *stop : json::array({*stop});
    for (const json& entry : list) {
      if (!entry.is_string() || list.size() > kMaxStops ||
          entry.get_ref<const std::string&>().empty() ||
          entry.get_ref<const std::string&>().size() > kMaxStopBytes) {
        return Fail("stop",
                    "'stop' must be a string or a list of at most 4 strings, each of 1 to "
                    "256 bytes.");
      }
      call_.settings.stop.push_back(entry.get<std::string>());
    }
  }

  void ReadStream() {
    call_.stream = ReadFlag(object_, "stream", "stream");
    const json* options = Find("stream_options");
    if (options == nullptr) return;
    if (!options->is_object()) {
      return Fail("stream_options", "'stream_options' must be an object.");
    }
    if (!call_.stream && !options->empty()) {
      return Fail("stream_options", "'stream_options' needs 'stream': true.");
    }
    call_.include_usage = ReadFlag(*options, "include_usage", "stream_options.include_usage");
    if (!options_.strict_fields) return;
    for (const auto& item : options->items()) {
      if (item.key() != "include_usage") FailUnknown("stream_options." + item.key());
    }
  }

  void ReadPrompt() {
    const json* prompt = Find("prompt");
    if (Find("messages") != nullptr) {
      return Fail("messages", "'messages' belongs to /v1/chat/completions.");
    }
    if (prompt == nullptr) return Fail("prompt", "You must provide a prompt.");
    if (prompt->is_string()) return AddText(prompt->get<std::string>());
    if (!prompt->is_array() || prompt->empty()) {
      return Fail("prompt",
                  "'prompt' must be a string, a list of strings, a list of token ids or a "
                  "list of such lists, and not empty.");
    }
    if (prompt->front().is_number()) return AddTokens(*prompt);
    for (const json& entry : *prompt) {
      if (error_) return;
      if (entry.is_string()) {
        AddText(entry.get<std::string>());
      } else {
        AddTokens(entry);
      }
    }
  }

  void AddText(std::string text) {
    if (text.empty()) return Fail("prompt", "The prompt is empty: give at least one token.");
    call_.prompts.emplace_back(std::move(text));
  }

  void AddTokens(const json& list) {
    std::vector<base::TokenId> tokens;
    if (!list.is_array() || list.empty()) {
      return Fail("prompt", "A prompt must be a string or a list of token ids, and not empty.");
    }
    for (const json& id : list) {
      // Whether the vocabulary has it is for whoever knows the vocabulary.
      if (!id.is_number_unsigned() ||
          id.get<std::uint64_t>() > std::numeric_limits<base::TokenId>::max()) {
        return Fail("prompt", "A token id is not an integer of the vocabulary.");
      }
      tokens.push_back(id.get<base::TokenId>());
    }
    call_.prompts.emplace_back(std::move(tokens));
  }

  void ReadFormat() {
    auto shape = ReadShape(object_, body_);
    if (const auto* error = std::get_if<ApiError>(&shape)) {
      Fail(error->param, error->message);
    } else {
      call_.shape = std::get<0>(std::move(shape));
    }
    const json* modalities = FindSet("modalities");
    if (modalities != nullptr && *modalities != json::array({"text"})) {
      Fail("modalities", "Only the modality text is supported.", "unsupported_parameter");
    }
  }

  void ReadMessages() {
    if (Find("prompt") != nullptr) return Fail("prompt", "'prompt' belongs to /v1/completions.");
    const json* messages = Find("messages");
    if (messages == nullptr || !messages->is_array() || messages->empty()) {
      return Fail("messages", "'messages' must be a list of at least one message.");
    }
    Conversation conversation;
    for (const json& message : *messages) {
      ReadMessage(message, conversation);
      if (error_) return;
    }
    call_.prompts.emplace_back(std::move(conversation));
  }

  void ReadMessage(const json& message, Conversation& conversation) {
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string()) {
      return Fail("messages", "A message must be an object with a role and a content.");
    }
    const auto& role = message["role"].get_ref<const std::string&>();
    const bool is_system = role == "system" || role == "developer";
    if (!is_system && role != "user" && role != "assistant") {
      return Fail("messages",
                  "A message's role must be system, developer, user or assistant: the models "
                  "of this deployment call no tools.");
    }
    for (const auto& item : message.items()) {
      if (item.key() == "role" || item.key() == "content" || CountsAsAbsent(item.value())) continue;
      Fail("messages", "A message may hold a role and a content, nothing else.");
    }
    conversation.push_back({is_system        ? chat::ChatRole::kSystem
                            : role == "user" ? chat::ChatRole::kUser
                                             : chat::ChatRole::kAssistant,
                            Content(message)});
  }

  // A string, or the texts of a list of text parts.
  std::string Content(const json& message) {
    const auto content = message.find("content");
    if (content != message.end() && content->is_string()) return content->get<std::string>();
    std::string text;
    bool well_formed = content != message.end() && content->is_array();
    for (std::size_t i = 0; well_formed && i < content->size(); ++i) {
      const json& part = (*content)[i];
      well_formed = part.is_object() && part.size() == 2 && part.contains("type") &&
                    part["type"] == "text" && part.contains("text") && part["text"].is_string();
      if (well_formed) text += part["text"].get_ref<const std::string&>();
    }
    if (!well_formed) {
      Fail("messages",
           "A message's content must be a string or a list of "
           "{\"type\": \"text\", \"text\": …}: text only.");
    }
    return text;
  }

  void CheckSize() {
    if (call_.prompts.size() * static_cast<std::size_t>(call_.n) >
        static_cast<std::size_t>(options_.max_choices)) {
      Fail("n", "At most " + std::to_string(options_.max_choices) +
                    " completions a request are served here: prompts × 'n' are more.");
    }
  }

  const json& object_;
  const std::string_view body_;
  const ParseOptions& options_;
  CompletionCall& call_;
  std::optional<ApiError> error_;
};

}  // namespace

std::variant<CompletionCall, ApiError> ParseCall(Endpoint endpoint, std::string_view body,
                                                 const ParseOptions& options) {
  const auto parsed = ParseObject(body);
  if (const auto* error = std::get_if<ApiError>(&parsed)) return *error;
  CompletionCall call;
  call.endpoint = endpoint;
  if (auto error = FieldReader(std::get<json>(parsed), body, options, call).Read()) return *error;
  return call;
}

}  // namespace submix::server
