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

#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/chat/chat_message.h"
#include "submix/chat/chat_template.h"
#include "submix/jinja/template.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::chat {

// What ends a message of a role: a marker, or a text.
struct TurnEnd {
  std::string text;                             // empty: nothing does
  std::optional<base::TokenId> end_token = {};  // if `text` is a marker
};

// What a model reads before it answers, and what ends its answer beside its own end tokens.
struct ChatQuestion {
  std::vector<base::TokenId> prompt;
  std::optional<base::TokenId> end_token = {};  // at most one of these two
  std::string stop = {};                        // empty: none
};

// A conversation as a training reads it: what the template writes of it, without a question at the
// end.
struct WrittenConversation {
  std::vector<base::TokenId> tokens;
  // [tokens]: whether the model would have to say it: the text of an assistant's message, what the
  // template adds to it and does not give as the beginning of an answer, and the turn's end. A
  // token across such a border counts as the answer's.
  std::vector<bool> is_answer;
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
  const std::string& turn_end() const { return answer_end_.text; }
  // Whether the template is the model's own, and not "plain" in want of one, nor named.
  bool is_of_model() const { return template_.is_of_model; }
  // `now` is for templates that tell the date. Errors: kInvalidArgument where the template refuses
  // the conversation, in its own words, or cannot write it. Requires: a message.
  base::StatusOr<ChatQuestion> Ask(std::span<const ChatMessage> messages, std::time_t now) const;
  // The same for the next message of this role, a user's or an assistant's; a user's may be the
  // first. Templates that tell the date tell the one that Write's tell. Errors: as Ask's; also
  // where the template does not write a user's message.
  base::StatusOr<ChatQuestion> Begin(std::span<const ChatMessage> messages, ChatRole role) const;
  // Templates that tell the date tell the same one each time: what is written depends on the
  // messages alone. Errors: kInvalidArgument, without a message's words, where the template refuses
  // the conversation, cannot write it, or writes no answer. Requires: a message.
  base::StatusOr<WrittenConversation> Write(std::span<const ChatMessage> messages) const;

 private:
  ChatFormat(ChatTemplate chat_template, jinja::Template parsed,
             const tokenizer::Tokenizer& tokenizer)
      : template_(std::move(chat_template)), parsed_(std::move(parsed)), tokenizer_(tokenizer) {}

  base::StatusOr<jinja::Text> Render(std::span<const ChatMessage> messages, std::time_t now,
                                     bool asks) const;
  base::Status WhyUnwritten(std::span<const ChatMessage> messages) const;
  // The tokens of the first `bytes` of a rendering.
  base::StatusOr<std::vector<base::TokenId>> Encode(const jinja::Text& text,
                                                    std::size_t bytes) const;
  // How many of all tokens of a text stand before its byte `bytes`. A token across it is counted if
  // it is theirs whose side is said.
  enum class Straddling { kBefore, kBehind };
  base::StatusOr<std::size_t> TokensBefore(const jinja::Text& text, std::size_t bytes,
                                           Straddling whose,
                                           const std::vector<base::TokenId>& all) const;
  // Renders small conversations: what is refused is found, and what ends a turn.
  base::Status Try();
  // From what the template writes between a message and the next.
  TurnEnd TurnEndIn(const std::string& between) const;
  static ChatQuestion Question(std::vector<base::TokenId> prompt, const TurnEnd& end);
  // The marker at the beginning of `text`, the longest; nothing if it begins with none.
  std::optional<std::string> MarkerAt(std::string_view text) const;

  const ChatTemplate template_;
  const jinja::Template parsed_;
  const tokenizer::Tokenizer& tokenizer_;
  std::vector<base::TokenId> markers_;  // those of the template that are not special
  std::string answer_begin_;            // what the template writes where it asks for an answer
  TurnEnd answer_end_;
  TurnEnd question_end_;
};

}  // namespace submix::chat
