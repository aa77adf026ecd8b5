// Conversations as people and programs keep them: OpenAI's messages, which Hugging Face's
// apply_chat_template takes, too.
#pragma once

#include <string>
#include <vector>

#include "submix/base/json_object.h"
#include "submix/base/status.h"

namespace submix::chat {

enum class ChatRole { kSystem, kUser, kAssistant };

// One message of a conversation.
struct ChatMessage {
  ChatRole role = ChatRole::kUser;
  std::string content;
  bool operator==(const ChatMessage&) const = default;
};

// "system", "user" or "assistant".
std::string RoleName(ChatRole role);

// The conversation in the field "messages" of a record that was kept: a list of objects, each with
// a role (system, or developer, which is the same; user; assistant) and a content, which is a text
// or a list of {"type": "text", "text": …}. Other fields of a message are ignored, but for those
// that say more than its text: calls of tools, and a weight. Errors: kInvalidArgument, with the
// number of the message, from 1, and the mend, and none of its text: also where a message has no
// text, or none is the assistant's.
base::StatusOr<std::vector<ChatMessage>> ReadConversation(const base::JsonObject& record);

// [{"role": "user", "content": "..."}, ...].
std::string MessagesJson(const std::vector<ChatMessage>& messages);

}  // namespace submix::chat
