#include "submix/server/openai_response.h"

#include <utility>

#include <nlohmann/json.hpp>

namespace submix::server {
namespace {

using Json = nlohmann::ordered_json;

// Text of a byte-level model need not be valid UTF-8; JSON must be.
std::string Dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string Event(const Json& value) { return "data: " + Dump(value) + "\n\n"; }

Json NullIfEmpty(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json ErrorObject(const ApiError& error) {
  return {{"error",
           {{"message", error.message},
            {"type", error.type},
            {"param", NullIfEmpty(error.param)},
            {"code", NullIfEmpty(error.code)}}}};
}

Json FinishReason(engine::AnswerEnd end) {
  switch (end) {
    case engine::AnswerEnd::kStop:
      return "stop";
    case engine::AnswerEnd::kMaxTokens:
      return "length";
    default:
      return nullptr;
  }
}

// One of an answer's choices. What it says stands under `name`: text, or a chat's message or delta.
Json ChoiceObject(const Choice& choice, const char* name, Json said) {
  return {{"index", choice.index},
          {name, std::move(said)},
          {"logprobs", nullptr},
          {"finish_reason", FinishReason(choice.end)}};
}

Json UsageObject(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

Json ModelObject(std::string_view model, std::int64_t created) {
  return {{"id", model}, {"object", "model"}, {"created", created}, {"owned_by", "submix"}};
}

}  // namespace

std::string ErrorBody(const ApiError& error) { return Dump(ErrorObject(error)); }

std::string ErrorEvent(const ApiError& error) { return Event(ErrorObject(error)); }

ResponseWriter::ResponseWriter(Endpoint endpoint, std::string_view id, std::int64_t created,
                               std::string model, bool include_usage)
    : endpoint_(endpoint),
      id_((endpoint == Endpoint::kChat ? "chatcmpl-" : "cmpl-") + std::string(id)),
      created_(created),
      model_(std::move(model)),
      include_usage_(include_usage) {}

std::string ResponseWriter::Whole(std::span<const Choice> choices, const Usage& usage) const {
  const bool chat = endpoint_ == Endpoint::kChat;
  Json list = Json::array();
  for (const Choice& choice : choices) {
    list.push_back(
        chat ? ChoiceObject(choice, "message",
                            {{"role", "assistant"}, {"content", choice.text}, {"refusal", nullptr}})
             : ChoiceObject(choice, "text", choice.text));
  }
  return Dump({{"id", id_},
               {"object", chat ? "chat.completion" : "text_completion"},
               {"created", created_},
               {"model", model_},
               {"choices", std::move(list)},
               {"usage", UsageObject(usage)}});
}

// A chunk with these choices.
static Json Chunk(Endpoint endpoint, const std::string& id, std::int64_t created,
                  const std::string& model, Json choices) {
  return {{"id", id},
          {"object", endpoint == Endpoint::kChat ? "chat.completion.chunk" : "text_completion"},
          {"created", created},
          {"model", model},
          {"choices", std::move(choices)}};
}

std::string ResponseWriter::OpeningEvent(int index) const {
  if (endpoint_ == Endpoint::kCompletions) return "";
  Json opening = ChoiceObject({.index = index}, "delta", {{"role", "assistant"}, {"content", ""}});
  Json chunk = Chunk(endpoint_, id_, created_, model_, Json::array({std::move(opening)}));
  if (include_usage_) chunk["usage"] = nullptr;
  return server::Event(chunk);
}

std::string ResponseWriter::Event(const Choice& choice) const {
  const bool ends = choice.end != engine::AnswerEnd::kNotYet;
  if (endpoint_ == Endpoint::kChat && ends && !choice.text.empty()) {
    return Event({choice.index, choice.text}) + Event({choice.index, "", choice.end});
  }
  Json entry =
      endpoint_ == Endpoint::kCompletions
          ? ChoiceObject(choice, "text", choice.text)
          : ChoiceObject(choice, "delta",
                         choice.text.empty() ? Json::object() : Json{{"content", choice.text}});
  Json chunk = Chunk(endpoint_, id_, created_, model_, Json::array({std::move(entry)}));
  if (include_usage_) chunk["usage"] = nullptr;
  return server::Event(chunk);
}

std::string ResponseWriter::UsageEvent(const Usage& usage) const {
  if (!include_usage_) return "";
  Json chunk = Chunk(endpoint_, id_, created_, model_, Json::array());
  chunk["usage"] = UsageObject(usage);
  return server::Event(chunk);
}

std::string ModelListBody(std::string_view model, std::int64_t created) {
  return Dump({{"object", "list"}, {"data", Json::array({ModelObject(model, created)})}});
}

std::string ModelBody(std::string_view model, std::int64_t created) {
  return Dump(ModelObject(model, created));
}

}  // namespace submix::server
