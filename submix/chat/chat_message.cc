#include "submix/chat/chat_message.h"

#include <algorithm>
#include <string_view>

namespace submix::chat {
namespace {

using base::JsonObject;
using base::Status;
using base::StatusOr;

Status MessageError(std::size_t number, const std::string& problem) {
  return base::InvalidArgumentError("message " + std::to_string(number) + " of \"messages\" " +
                                    problem);
}

StatusOr<ChatRole> RoleOf(const JsonObject& message, std::size_t number) {
  const StatusOr<std::string> role = message.Text("role");
  if (role.ok()) {
    if (*role == "system" || *role == "developer") return ChatRole::kSystem;
    if (*role == "user") return ChatRole::kUser;
    if (*role == "assistant") return ChatRole::kAssistant;
  }
  return MessageError(number,
                      "has no role that is known: give \"role\" as system, developer, user or "
                      "assistant");
}

StatusOr<std::string> ContentOf(const JsonObject& message, std::size_t number) {
  if (message.IsText("content")) return message.Text("content");
  const Status wrong = MessageError(number,
                                    "has no content that is text: give \"content\" as a string, or "
                                    "as a list of {\"type\": \"text\", \"text\": \"...\"}");
  const auto parts = message.Objects("content");
  if (!parts.ok()) return wrong;
  std::string content;
  for (const JsonObject& part : *parts) {
    const StatusOr<std::string> type = part.Text("type");
    const StatusOr<std::string> text = part.Text("text");
    if (!type.ok() || *type != "text" || !text.ok()) return wrong;
    content += *text;
  }
  return content;
}

StatusOr<ChatMessage> MessageOf(const JsonObject& message, std::size_t number) {
  for (const std::string field : {"tool_calls", "function_call"}) {
    if (message.IsOff(field)) continue;
    return MessageError(number, "calls a tool, which is not read: leave the record out");
  }
  if (message.Has("weight")) {
    return MessageError(number, "has a weight, which is not read: leave the field out");
  }
  ChatMessage read;
  SUBMIX_ASSIGN_OR_RETURN(read.role, RoleOf(message, number));
  SUBMIX_ASSIGN_OR_RETURN(read.content, ContentOf(message, number));
  if (read.content.empty()) {
    return MessageError(number, "is empty: give it text, or leave it out");
  }
  return read;
}

}  // namespace

std::string RoleName(ChatRole role) {
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

std::string MessagesJson(const std::vector<ChatMessage>& messages) {
  std::string list;
  for (const ChatMessage& message : messages) {
    list += (list.empty() ? "" : ", ") + ("{\"role\": " + base::JsonText(RoleName(message.role))) +
            ", \"content\": " + base::JsonText(message.content) + "}";
  }
  return "[" + list + "]";
}

StatusOr<std::vector<ChatMessage>> ReadConversation(const JsonObject& record) {
  const auto messages = record.Objects("messages");
  if (!messages.ok()) {
    return base::InvalidArgumentError(
        "\"messages\" is not a list of objects: expected [{\"role\": \"user\", \"content\": "
        "\"...\"}, {\"role\": \"assistant\", \"content\": \"...\"}]");
  }
  std::vector<ChatMessage> conversation;
  for (std::size_t i = 0; i < messages->size(); ++i) {
    SUBMIX_ASSIGN_OR_RETURN(conversation.emplace_back(), MessageOf((*messages)[i], i + 1));
  }
  if (std::ranges::count(conversation, ChatRole::kAssistant, &ChatMessage::role) > 0) {
    return conversation;
  }
  return base::InvalidArgumentError(
      "\"messages\" holds no answer: give a message of the role assistant, or leave the record "
      "out");
}

}  // namespace submix::chat
