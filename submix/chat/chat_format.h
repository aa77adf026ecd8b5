// From a conversation to a prompt, as the model's own chat template writes it. The template is run
// (submix/jinja), and its text knows of each byte whose it is: markers become token ids where the
// template says them, and what people wrote never becomes one, whatever the template does with it.
// No message can end its own turn or begin another's. Where a template has no markers ("plain") it
// is a habit of writing, no wall between the roles.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/chat/chat_template.h"
#include "submix/engine/request.h"
#include "submix/jinja/template.h"
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
  // For the model in `directory`: our template `name` (ChatTemplateNames), or if that is empty the
  // model's own. Errors: those of finding it; kInvalidArgument naming the file and the mend if it
  // is no template, or does what this interpreter does not; kFailedPrecondition naming a marker
  // that ours needs and the tokenizer lacks.
  static base::StatusOr<std::unique_ptr<const ChatFormat>> Load(
      const std::string& directory, const std::string& name, const tokenizer::Tokenizer& tokenizer);

  // The file of the template, or its name.
  const std::string& name() const { return template_.name; }
  // What ends an answer beside the model's own end tokens: a marker or a text; empty: nothing.
  const std::string& turn_end() const { return turn_end_; }
  // What the model reads before its answer: `request`'s prompt; and what ends its turn is added to
  // its end tokens and stop strings. `now` is for templates that tell the date. Errors:
  // kInvalidArgument where the template refuses the conversation, in its own words, or cannot write
  // it. Requires: a message.
  base::Status Ask(std::span<const ChatMessage> messages, std::time_t now,
                   engine::Request& request) const;

 private:
  ChatFormat(ChatTemplate chat_template, jinja::Template parsed,
             const tokenizer::Tokenizer& tokenizer)
      : template_(std::move(chat_template)), parsed_(std::move(parsed)), tokenizer_(tokenizer) {}

  base::StatusOr<jinja::Text> Render(std::span<const ChatMessage> messages, std::time_t now) const;
  // Renders small conversations: what is refused is found, and what ends a turn.
  base::Status Try();
  // From what the template writes between an answer and the next question.
  void FindTurnEnd(const std::string& between);
  // The marker at the beginning of `text`, the longest; nothing if it begins with none.
  std::optional<std::string> MarkerAt(std::string_view text) const;

  const ChatTemplate template_;
  const jinja::Template parsed_;
  const tokenizer::Tokenizer& tokenizer_;
  std::vector<base::TokenId> markers_;  // those of the template that are not special
  std::string turn_end_;
  std::optional<base::TokenId> end_token_;  // if turn_end_ is a marker
};

}  // namespace submix::chat
