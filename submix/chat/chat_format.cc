#include "submix/chat/chat_format.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "submix/base/json_object.h"

namespace submix::chat {
namespace {

using base::Status;
using base::StatusCode;
using base::StatusOr;
using base::TokenId;
using jinja::Origin;
using jinja::Text;
using jinja::Variable;

// Roles are ours, not the client's words.
std::string_view RoleName(ChatRole role) {
  switch (role) {
    case ChatRole::kSystem:
      return "system";
    case ChatRole::kUser:
      return "user";
    case ChatRole::kAssistant:
      break;
  }
  return "assistant";
}

// Where `text` is a message's.
struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
};
std::vector<Stretch> MessagesIn(const Text& text) {
  std::vector<Stretch> found;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.origin(i) != Origin::kMessage) continue;
    if (found.empty() || found.back().end != i) found.push_back({i, i});
    ++found.back().end;
  }
  return found;
}

}  // namespace

StatusOr<std::unique_ptr<const ChatFormat>> ChatFormat::Load(
    const std::string& directory, const std::string& name, const tokenizer::Tokenizer& tokenizer) {
  SUBMIX_ASSIGN_OR_RETURN(ChatTemplate chat_template, name.empty()
                                                          ? LoadChatTemplate(directory)
                                                          : NamedChatTemplate(directory, name));
  const std::string& marker = chat_template.needed_marker;
  if (!marker.empty() && !tokenizer.added_token(marker)) {
    return base::FailedPreconditionError(directory + ": the chat format " +
                                         base::Quoted(chat_template.name) + " needs the marker " +
                                         base::Quoted(marker) + ", which the tokenizer lacks");
  }
  const auto error = [&](const Status& status) {
    return base::InvalidArgumentError(
        directory + ": the chat template of " + chat_template.name + ": " + status.message() +
        "; name another as chat_format in the TOML file's [server], or by --chat-format: \"plain\" "
        "serves any model");
  };
  auto parsed = jinja::Template::Parse(chat_template.source);
  if (!parsed.ok()) return error(parsed.status());
  std::unique_ptr<ChatFormat> format(new ChatFormat(chat_template, *std::move(parsed), tokenizer));
  const Status tried = format->Try();
  if (!tried.ok()) return error(tried);
  return std::unique_ptr<const ChatFormat>(std::move(format));
}

StatusOr<Text> ChatFormat::Render(std::span<const ChatMessage> messages, std::time_t now) const {
  std::vector<Variable> conversation;
  for (const ChatMessage& message : messages) {
    conversation.push_back(
        Variable::Dict({{"role", Variable::String({RoleName(message.role), Origin::kTemplate})},
                        {"content", Variable::String({message.content, Origin::kMessage})}}));
  }
  Variable::Fields variables = {{"messages", Variable::List(std::move(conversation))},
                                {"tools", Variable::None()},
                                {"documents", Variable::None()},
                                {"add_generation_prompt", Variable::Boolean(true)}};
  for (const auto& [name, content] : template_.special_tokens) {
    variables.emplace_back(name, Variable::String({content, Origin::kTemplate}));
  }
  return parsed_.Render(variables, now);
}

Status ChatFormat::Try() {
  const ChatMessage system{ChatRole::kSystem, "rule"};
  const ChatMessage user{ChatRole::kUser, "question"};
  const ChatMessage answer{ChatRole::kAssistant, "answer"};
  const std::vector<std::vector<ChatMessage>> conversations = {
      {user}, {system, user}, {user, answer, user}};
  std::string written = template_.source;
  StatusOr<Text> text = Text();
  for (const auto& conversation : conversations) {
    text = Render(conversation, /*now=*/0);
    // A template may refuse a conversation, but not for what we lack; and one is always written.
    const bool is_refusal = !text.ok() && text.status().code() == StatusCode::kInvalidArgument;
    const bool must_be_written = &conversation == &conversations.front();
    if (text.ok()) {
      written += text->bytes();
    } else if (!is_refusal &&
               (must_be_written || text.status().code() == StatusCode::kUnimplemented)) {
      return text.status();
    }
  }
  markers_ = tokenizer_.MarkersIn(written);
  if (!text.ok()) return base::OkStatus();
  const std::vector<Stretch> messages = MessagesIn(*text);
  if (messages.size() < 2) return base::OkStatus();
  const Stretch& before = messages[messages.size() - 2];
  if (text->bytes().substr(before.begin, before.end - before.begin) == answer.content) {
    FindTurnEnd(text->bytes().substr(before.end, messages.back().begin - before.end));
  }
  return base::OkStatus();
}

std::optional<std::string> ChatFormat::MarkerAt(std::string_view text) const {
  for (std::size_t size = std::min<std::size_t>(text.size(), 100); size > 0; --size) {
    const std::string_view content = text.substr(0, size);
    const auto token = tokenizer_.added_token(content);
    if (!token) continue;
    const bool is_ours = std::ranges::find(markers_, *token) != markers_.end();
    if (is_ours || tokenizer_.special_token(content)) return std::string(content);
  }
  return std::nullopt;
}

void ChatFormat::FindTurnEnd(const std::string& between) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = between.find_first_not_of(kSpace);
  if (first == std::string::npos) return;
  for (std::size_t i = first; i < between.size(); ++i) {
    const auto marker = MarkerAt(std::string_view(between).substr(i));
    if (!marker) continue;
    if (i == first) {
      turn_end_ = *marker;
      end_token_ = tokenizer_.added_token(*marker);
    } else {
      turn_end_ = between.substr(0, between.find_last_not_of(kSpace, i - 1) + 1);
    }
    return;
  }
  turn_end_ = between.substr(0, between.find_last_not_of(kSpace) + 1);
}

Status ChatFormat::Ask(std::span<const ChatMessage> messages, std::time_t now,
                       engine::Request& request) const {
  const StatusOr<Text> text = Render(messages, now);
  if (!text.ok()) {
    const bool is_refusal = text.status().code() == StatusCode::kInvalidArgument;
    return base::InvalidArgumentError(
        (is_refusal ? "This model's chat template refuses the conversation: "
                    : "This model's chat template cannot write this conversation: ") +
        text.status().message());
  }
  std::vector<bool> is_of_template;
  is_of_template.reserve(text->size());
  for (std::size_t i = 0; i < text->size(); ++i) {
    is_of_template.push_back(text->origin(i) == Origin::kTemplate);
  }
  request.prompt = template_.name == kPlain ? tokenizer_.prefix() : std::vector<TokenId>();
  SUBMIX_ASSIGN_OR_RETURN(const auto tokens,
                          tokenizer_.EncodeTemplated(text->bytes(), is_of_template, markers_));
  request.prompt.insert(request.prompt.end(), tokens.begin(), tokens.end());
  if (request.prompt.empty()) {
    return base::InvalidArgumentError("This model's chat template writes nothing.");
  }
  if (end_token_) {
    request.end_tokens.push_back(*end_token_);
  } else if (!turn_end_.empty()) {
    request.stop.push_back(turn_end_);
  }
  return base::OkStatus();
}

}  // namespace submix::chat
