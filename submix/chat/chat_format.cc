#include "submix/chat/chat_format.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "submix/base/check.h"
#include "submix/base/json_object.h"
#include "submix/base/number_text.h"
#include "submix/tokenizer/characters.h"

namespace submix::chat {
namespace {

using base::Status;
using base::StatusOr;
using base::TokenId;
using engine::Request;
using Messages = std::span<const ChatMessage>;

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

bool BeginsWithSystem(Messages messages) {
  return !messages.empty() && messages.front().role == ChatRole::kSystem;
}

// As Python's str.strip(), which templates call trim.
bool IsSpace(std::int32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

std::string_view Trimmed(std::string_view text) {
  std::size_t begin = text.size();
  std::size_t end = text.size();
  for (std::size_t i = 0; i < text.size();) {
    const tokenizer::Character character = tokenizer::CharacterAt(text, i);
    if (!IsSpace(character.code_point)) {
      begin = std::min(begin, i);
      end = i + character.size;
    }
    i += character.size;
  }
  return text.substr(begin, end - begin);
}

std::string_view WithoutLineEnds(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  while (text.starts_with('\n')) text.remove_prefix(1);
  return text;
}

// "user" comes first and then every other time.
Status CheckTurns(Messages messages) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if ((messages[i].role == ChatRole::kUser) == (i % 2 == 0)) continue;
    return base::InvalidArgumentError(
        "This model's chats alternate: after an optional system message, user, assistant, user, "
        "and so on.");
  }
  return base::OkStatus();
}

}  // namespace

// Text between two markers is encoded as a whole: a template's own words and people's may share a
// token, as they do where the template is rendered first.
class ChatFormat::Writer {
 public:
  Writer(const ChatStyle& style, const tokenizer::Tokenizer& tokenizer, std::time_t now)
      : style_(style), tokenizer_(tokenizer), now_(now) {}

  const ChatStyle& style() const { return style_; }
  // "24 Nov 2026", in UTC.
  std::string date() const {
    return style_.date.empty() ? base::UtcTime(now_, "%d %b %Y") : style_.date;
  }

  void Begin() {
    if (!style_.begin.empty()) Marker(style_.begin);
  }
  // What the tokenizer puts before any text.
  void Prefix() { tokens_ = tokenizer_.prefix(); }
  void EndOfText() {
    EncodeText();
    tokens_.push_back(tokenizer_.end_of_text());
  }
  void Marker(std::string_view content) {
    const std::optional<TokenId> marker = tokenizer_.added_token(content);
    SUBMIX_CHECK(marker.has_value(), "a format's markers are looked up when it is made");
    EncodeText();
    tokens_.push_back(*marker);
  }
  // As a marker where the tokenizer has it as one.
  void MarkerOrText(std::string_view content) {
    if (tokenizer_.added_token(content)) {
      Marker(content);
    } else {
      Text(content);
    }
  }
  void Text(std::string_view text) { text_ += text; }

  std::vector<TokenId> Take() {
    EncodeText();
    return std::move(tokens_);
  }

 private:
  void EncodeText() {
    if (text_.empty()) return;
    const std::vector<TokenId> encoded = tokenizer_.EncodeTemplated(text_, {}, markers_);
    tokens_.insert(tokens_.end(), encoded.begin(), encoded.end());
    text_.clear();
  }

  const ChatStyle& style_;
  const tokenizer::Tokenizer& tokenizer_;
  const std::time_t now_;
  // Those that a file may list without calling them special.
  const std::vector<TokenId> markers_ = tokenizer_.MarkersIn(
      "<|im_start|><|im_end|><think></think><|start_header_id|><|end_header_id|><|eot_id|>"
      "<start_of_turn><end_of_turn>[INST][/INST]");
  std::string text_;  // not yet encoded
  std::vector<TokenId> tokens_;
};

struct ChatFormat::Format {
  std::string name;
  std::string turn_end;              // a marker; empty: the end of text
  std::vector<std::string> markers;  // all others
  std::string stop;                  // a text that ends a turn; empty: none
  Status (*write)(Messages messages, Writer& out);

  // --- ChatML: Qwen 2 and 2.5, SmolLM2, and many that others have tuned

  static void WriteChatMlTurn(std::string_view role, std::string_view content, Writer& out) {
    out.Marker("<|im_start|>");
    out.Text(role);
    out.Text("\n");
    out.Text(content);
    out.Marker("<|im_end|>");
    out.Text("\n");
  }
  static void BeginChatMlAnswer(Writer& out) {
    out.Marker("<|im_start|>");
    out.Text("assistant\n");
  }

  static Status WriteChatMl(Messages messages, Writer& out) {
    out.Begin();
    if (!BeginsWithSystem(messages) && !out.style().default_system.empty()) {
      WriteChatMlTurn("system", out.style().default_system, out);
    }
    for (const ChatMessage& message : messages) {
      WriteChatMlTurn(RoleName(message.role), message.content, out);
    }
    BeginChatMlAnswer(out);
    return base::OkStatus();
  }

  // --- Qwen 3: ChatML, but for what it has thought before

  struct Thought {
    std::string_view reasoning;
    std::string_view answer;
  };
  static Thought SplitThought(std::string_view content) {
    constexpr std::string_view kBegin = "<think>";
    constexpr std::string_view kEnd = "</think>";
    const std::size_t end = content.find(kEnd);
    if (end == std::string_view::npos) return {"", content};
    std::string_view reasoning = content.substr(0, end);
    const std::size_t begin = reasoning.rfind(kBegin);
    if (begin != std::string_view::npos) reasoning.remove_prefix(begin + kBegin.size());
    std::string_view answer = content.substr(content.rfind(kEnd) + kEnd.size());
    answer.remove_prefix(std::min(answer.find_first_not_of('\n'), answer.size()));
    return {WithoutLineEnds(reasoning), answer};
  }

  // The user's last message that is not what a tool said.
  static std::size_t LastQuestion(Messages messages) {
    for (std::size_t i = messages.size(); i-- > 0;) {
      const std::string_view content = messages[i].content;
      const bool is_of_tool =
          content.starts_with("<tool_response>") && content.ends_with("</tool_response>");
      if (messages[i].role == ChatRole::kUser && !is_of_tool) return i;
    }
    return messages.size() - 1;
  }

  static Status WriteQwen3(Messages messages, Writer& out) {
    out.Begin();
    const std::size_t last_question = LastQuestion(messages);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const ChatMessage& message = messages[i];
      if (message.role != ChatRole::kAssistant) {
        WriteChatMlTurn(RoleName(message.role), message.content, out);
        continue;
      }
      const Thought thought = SplitThought(message.content);
      const bool is_last = i + 1 == messages.size();
      BeginChatMlAnswer(out);
      if (i > last_question && (is_last || !thought.reasoning.empty())) {
        out.Marker("<think>");
        out.Text("\n" + std::string(thought.reasoning) + "\n");
        out.Marker("</think>");
        out.Text("\n\n");
        out.Text(thought.answer.substr(
            std::min(thought.answer.find_first_not_of('\n'), thought.answer.size())));
      } else {
        out.Text(thought.answer);
      }
      out.Marker("<|im_end|>");
      out.Text("\n");
    }
    BeginChatMlAnswer(out);
    return base::OkStatus();
  }

  // --- Llama 3

  static void WriteLlama3Header(std::string_view role, Writer& out) {
    out.Marker("<|start_header_id|>");
    out.Text(role);
    out.Marker("<|end_header_id|>");
    out.Text("\n\n");
  }
  static void WriteLlama3Turns(Messages messages, Writer& out) {
    for (const ChatMessage& message : messages) {
      WriteLlama3Header(RoleName(message.role), out);
      out.Text(Trimmed(message.content));
      out.Marker("<|eot_id|>");
    }
    WriteLlama3Header("assistant", out);
  }

  static Status WriteLlama3(Messages messages, Writer& out) {
    out.Begin();
    WriteLlama3Turns(messages, out);
    return base::OkStatus();
  }

  // Llama 3.1 and 3.2: every conversation has a system message, which tells the date.
  static Status WriteLlama31(Messages messages, Writer& out) {
    out.Begin();
    WriteLlama3Header("system", out);
    out.Text("Cutting Knowledge Date: December 2023\nToday Date: " + out.date() + "\n\n");
    if (BeginsWithSystem(messages)) {
      out.Text(Trimmed(messages.front().content));
      messages = messages.subspan(1);
    }
    out.Marker("<|eot_id|>");
    WriteLlama3Turns(messages, out);
    return base::OkStatus();
  }

  // --- Gemma

  // The first message is the user's, behind `before`.
  static Status WriteGemmaTurns(std::string_view before, Messages messages, Writer& out) {
    SUBMIX_RETURN_IF_ERROR(CheckTurns(messages));
    out.Begin();
    for (const ChatMessage& message : messages) {
      out.Marker("<start_of_turn>");
      out.Text(message.role == ChatRole::kAssistant ? "model" : RoleName(message.role));
      out.Text("\n");
      out.Text(std::exchange(before, ""));
      out.Text(Trimmed(message.content));
      out.Marker("<end_of_turn>");
      out.Text("\n");
    }
    out.Marker("<start_of_turn>");
    out.Text("model\n");
    return base::OkStatus();
  }

  static Status WriteGemma2(Messages messages, Writer& out) {
    if (BeginsWithSystem(messages)) {
      return base::InvalidArgumentError("This model's chats have no system messages.");
    }
    return WriteGemmaTurns("", messages, out);
  }

  static Status WriteGemma3(Messages messages, Writer& out) {
    if (!BeginsWithSystem(messages)) return WriteGemmaTurns("", messages, out);
    if (messages.size() == 1) {
      return base::InvalidArgumentError(
          "This model reads a system message as part of the user's first one: give one.");
    }
    return WriteGemmaTurns(messages.front().content + "\n\n", messages.subspan(1), out);
  }

  // --- Mistral

  // The messages behind a system message.
  static StatusOr<Messages> MistralTurns(Messages messages) {
    const Messages turns = messages.subspan(BeginsWithSystem(messages) ? 1 : 0);
    SUBMIX_RETURN_IF_ERROR(CheckTurns(turns));
    for (const ChatMessage& message : turns) {
      if (message.role != ChatRole::kSystem) continue;
      return base::InvalidArgumentError("This model's chats have a system message only as first.");
    }
    return turns;
  }

  // What the user's message begins with that the system message goes before.
  static std::string MistralSystem(Messages messages) {
    return BeginsWithSystem(messages) ? messages.front().content + "\n\n" : "";
  }

  // The system message goes before the user's first message, and spaces around all brackets.
  static Status WriteMistral1(Messages messages, Writer& out) {
    SUBMIX_ASSIGN_OR_RETURN(const Messages turns, MistralTurns(messages));
    out.Begin();
    for (const ChatMessage& message : turns) {
      if (message.role == ChatRole::kAssistant) {
        out.Text(" " + message.content);
        out.EndOfText();
        continue;
      }
      const bool is_first = &message == &turns.front();
      out.Text(" ");
      out.MarkerOrText("[INST]");
      out.Text(" " + (is_first ? MistralSystem(messages) : "") + message.content + " ");
      out.MarkerOrText("[/INST]");
    }
    return base::OkStatus();
  }

  // The system message goes before the user's last message.
  static Status WriteMistral3(Messages messages, Writer& out) {
    SUBMIX_ASSIGN_OR_RETURN(const Messages turns, MistralTurns(messages));
    out.Begin();
    for (const ChatMessage& message : turns) {
      if (message.role == ChatRole::kAssistant) {
        out.Text(" " + std::string(Trimmed(message.content)));
        out.EndOfText();
        continue;
      }
      const bool is_last = &message == &turns.back();
      out.Marker("[INST]");
      out.Text(" " + (is_last ? MistralSystem(messages) : "") + message.content);
      out.Marker("[/INST]");
    }
    return base::OkStatus();
  }

  // --- Plain

  static Status WritePlain(Messages messages, Writer& out) {
    out.Prefix();
    for (const ChatMessage& message : messages) {
      out.Text(message.role == ChatRole::kSystem ? "System: "
               : message.role == ChatRole::kUser ? "User: "
                                                 : "Assistant: ");
      out.Text(message.content);
      out.Text("\n\n");
    }
    out.Text("Assistant:");
    return base::OkStatus();
  }
};

const std::vector<ChatFormat::Format>& ChatFormat::Formats() {
  static const std::vector<std::string> kLlama3Markers = {"<|start_header_id|>",
                                                          "<|end_header_id|>"};
  static const std::vector<Format> formats = {
      {"chatml", "<|im_end|>", {"<|im_start|>"}, "", Format::WriteChatMl},
      {"qwen3", "<|im_end|>", {"<|im_start|>", "<think>", "</think>"}, "", Format::WriteQwen3},
      {"llama3", "<|eot_id|>", kLlama3Markers, "", Format::WriteLlama3},
      {"llama3.1", "<|eot_id|>", kLlama3Markers, "", Format::WriteLlama31},
      {"gemma2", "<end_of_turn>", {"<start_of_turn>"}, "", Format::WriteGemma2},
      {"gemma3", "<end_of_turn>", {"<start_of_turn>"}, "", Format::WriteGemma3},
      {"mistral-v1", "", {}, "", Format::WriteMistral1},
      {"mistral-v3", "", {"[INST]", "[/INST]"}, "", Format::WriteMistral3},
      {"plain", "", {}, "\n\nUser:", Format::WritePlain}};
  return formats;
}

std::vector<std::string> ChatFormat::Names() {
  std::vector<std::string> names;
  for (const Format& format : Formats()) names.push_back(format.name);
  return names;
}

ChatFormat::ChatFormat(const Format& format, ChatStyle style, const tokenizer::Tokenizer& tokenizer)
    : format_(format), style_(std::move(style)), tokenizer_(tokenizer) {}

StatusOr<std::unique_ptr<const ChatFormat>> ChatFormat::Load(
    const std::string& directory, const std::string& name, const tokenizer::Tokenizer& tokenizer) {
  SUBMIX_ASSIGN_OR_RETURN(ChatStyle style, name.empty() ? RecognizeChatStyle(directory)
                                                        : NamedChatStyle(directory, name));
  const auto format = std::ranges::find(Formats(), style.format, &Format::name);
  if (format == Formats().end()) {
    std::string names;
    for (const Format& each : Formats()) names += (names.empty() ? "" : ", ") + each.name;
    return base::InvalidArgumentError("there is no chat format " + base::Quoted(name) +
                                      "; there are " + names);
  }
  std::vector<std::string> needed = format->markers;
  if (!format->turn_end.empty()) needed.push_back(format->turn_end);
  if (!style.begin.empty() && format->name != "plain") needed.push_back(style.begin);
  for (const std::string& marker : needed) {
    if (tokenizer.added_token(marker)) continue;
    return base::FailedPreconditionError(directory + ": the chat format " +
                                         base::Quoted(format->name) + " needs the marker " +
                                         base::Quoted(marker) + ", which the tokenizer lacks");
  }
  return std::unique_ptr<const ChatFormat>(new ChatFormat(*format, std::move(style), tokenizer));
}

Status ChatFormat::Ask(Messages messages, std::time_t now, Request& request) const {
  Writer writer(style_, tokenizer_, now);
  SUBMIX_RETURN_IF_ERROR(format_.write(messages, writer));
  request.prompt = writer.Take();
  if (!format_.stop.empty()) request.stop.push_back(format_.stop);
  if (!format_.turn_end.empty()) {
    request.end_tokens.push_back(*tokenizer_.added_token(format_.turn_end));
  }
  return base::OkStatus();
}

}  // namespace submix::chat
