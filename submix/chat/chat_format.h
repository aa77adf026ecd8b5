// From a conversation to a prompt, as each model family writes it. Markers enter as token ids, what
// people wrote enters as text, and text never becomes a marker: no message can end its own turn or
// begin another's. Where a format has no markers ("plain", and partly "mistral-v1") it is a habit
// of writing, no wall between the roles.
#pragma once

#include <ctime>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/chat/chat_template.h"
#include "submix/engine/request.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::chat {

enum class ChatRole { kSystem, kUser, kAssistant };

// One message of a conversation.
struct ChatMessage {
  ChatRole role = ChatRole::kUser;
  std::string content;
  bool operator==(const ChatMessage&) const = default;
};

// Immutable, thread-safe. The tokenizer must outlive it.
class ChatFormat {
 public:
  // "chatml", "qwen3", "llama3", "llama3.1", "gemma2", "gemma3", "mistral-v1", "mistral-v3", and
  // "plain", whose answer ends where the model would begin the user's next turn:
  //
  //   System: be kind\n\nUser: hello\n\nAssistant:
  static std::vector<std::string> Names();

  // For the model in `directory`: the format `name`, or if that is empty the one of the model's own
  // template. Errors: those of RecognizeChatStyle; kInvalidArgument if there is no such format;
  // kFailedPrecondition naming a marker that the tokenizer lacks.
  static base::StatusOr<std::unique_ptr<const ChatFormat>> Load(
      const std::string& directory, const std::string& name, const tokenizer::Tokenizer& tokenizer);

  const std::string& name() const { return style_.format; }
  // What the model reads before its answer: `request`'s prompt; and what ends its turn is added to
  // its end tokens and stop strings. `now` is for formats that tell the date. Errors:
  // kInvalidArgument where the model's template refuses the conversation. Requires: a message.
  base::Status Ask(std::span<const ChatMessage> messages, std::time_t now,
                   engine::Request& request) const;

 private:
  struct Format;
  class Writer;
  static const std::vector<Format>& Formats();

  ChatFormat(const Format& format, ChatStyle style, const tokenizer::Tokenizer& tokenizer);

  const Format& format_;
  const ChatStyle style_;
  const tokenizer::Tokenizer& tokenizer_;
};

}  // namespace submix::chat
