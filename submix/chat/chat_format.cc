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

// What templates are told that tell the date, where it must not matter when: 26 July 2024, which
// Llama 3.1's says in want of another.
constexpr std::time_t kDateOfRecords = 1'721'952'000;

struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Where `text` is of messages, cut where another's begin.
std::vector<Stretch> PartsIn(const Text& text) {
  std::vector<Stretch> parts;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.origin(i) == Origin::kTemplate) continue;
    const bool goes_on =
        !parts.empty() && parts.back().end == i && text.origin(i - 1) == text.origin(i);
    if (!goes_on) parts.push_back({i, i});
    ++parts.back().end;
  }
  return parts;
}

// Where an answer that stands at `part` ends for whoever says it: behind what ends the turn. Where
// the template has its own words within an answer, behind those.
std::size_t AnswerEnd(const Text& text, const Stretch& part, std::size_t next,
                      std::string_view turn_end) {
  const auto behind = std::string_view(text.bytes()).substr(part.end, next - part.end);
  const std::size_t at = turn_end.empty() ? behind.npos : behind.find(turn_end);
  if (at != behind.npos) return part.end + at + turn_end.size();
  const bool goes_on = next < text.size() && text.origin(next) == Origin::kAnswer;
  return goes_on && !turn_end.empty() ? next : part.end;
}

// What an assistant has to say of `text`. What the template gives as the beginning of an answer is
// given, too, where an answer is asked for.
std::vector<Stretch> AnswersIn(const Text& text, std::string_view answer_begin,
                               std::string_view turn_end) {
  std::vector<Stretch> answers;
  const std::vector<Stretch> parts = PartsIn(text);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (text.origin(parts[i].begin) != Origin::kAnswer) continue;
    const std::size_t before = i > 0 ? parts[i - 1].end : 0;
    const std::size_t next = i + 1 < parts.size() ? parts[i + 1].begin : text.size();
    const auto lead = std::string_view(text.bytes()).substr(before, parts[i].begin - before);
    const std::size_t given = answer_begin.empty() ? lead.npos : lead.rfind(answer_begin);
    const std::size_t begin =
        given == lead.npos ? parts[i].begin : before + given + answer_begin.size();
    answers.push_back({begin, AnswerEnd(text, parts[i], next, turn_end)});
  }
  return answers;
}

Status Unwritten(const Status& status) {
  const bool is_refusal = status.code() == StatusCode::kInvalidArgument;
  return base::InvalidArgumentError(
      (is_refusal ? "This model's chat template refuses the conversation: "
                  : "This model's chat template cannot write this conversation: ") +
      status.message());
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

StatusOr<Text> ChatFormat::Render(std::span<const ChatMessage> messages, std::time_t now,
                                  bool asks) const {
  std::vector<Variable> conversation;
  for (const ChatMessage& message : messages) {
    const Origin origin = message.role == ChatRole::kAssistant ? Origin::kAnswer : Origin::kMessage;
    conversation.push_back(
        Variable::Dict({{"role", Variable::String({RoleName(message.role), Origin::kTemplate})},
                        {"content", Variable::String({message.content, origin})}}));
  }
  Variable::Fields variables = {{"messages", Variable::List(std::move(conversation))},
                                {"tools", Variable::None()},
                                {"documents", Variable::None()},
                                {"add_generation_prompt", Variable::Boolean(asks)}};
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
    text = Render(conversation, /*now=*/0, /*asks=*/true);
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
  const auto asking = Render({&user, 1}, /*now=*/0, /*asks=*/true);
  const auto asked = Render({&user, 1}, /*now=*/0, /*asks=*/false);
  if (asking.ok() && asked.ok() && asking->bytes().starts_with(asked->bytes())) {
    answer_begin_ = asking->bytes().substr(asked->size());
  }
  if (!text.ok()) return base::OkStatus();
  const std::vector<Stretch> messages = PartsIn(*text);
  if (messages.size() < 2) return base::OkStatus();
  const auto end_of = [&](const ChatMessage& message, std::size_t place) {
    const Stretch& found = messages[place];
    if (text->bytes().substr(found.begin, found.end - found.begin) != message.content) {
      return TurnEnd();
    }
    return TurnEndIn(text->bytes().substr(found.end, messages[place + 1].begin - found.end));
  };
  answer_end_ = end_of(answer, messages.size() - 2);
  if (messages.size() > 2) question_end_ = end_of(user, messages.size() - 3);
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

TurnEnd ChatFormat::TurnEndIn(const std::string& between) const {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = between.find_first_not_of(kSpace);
  if (first == std::string::npos) return {};
  for (std::size_t i = first; i < between.size(); ++i) {
    const auto marker = MarkerAt(std::string_view(between).substr(i));
    if (!marker) continue;
    if (i == first) return {*marker, tokenizer_.added_token(*marker)};
    return {between.substr(0, between.find_last_not_of(kSpace, i - 1) + 1)};
  }
  return {between.substr(0, between.find_last_not_of(kSpace) + 1)};
}

StatusOr<std::vector<TokenId>> ChatFormat::Encode(const Text& text, std::size_t bytes) const {
  std::vector<bool> is_of_template;
  is_of_template.reserve(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    is_of_template.push_back(text.origin(i) == Origin::kTemplate);
  }
  std::vector<TokenId> tokens =
      template_.name == kPlain ? tokenizer_.prefix() : std::vector<TokenId>();
  SUBMIX_ASSIGN_OR_RETURN(const auto encoded, tokenizer_.EncodeTemplated(
                                                  std::string_view(text.bytes()).substr(0, bytes),
                                                  is_of_template, markers_));
  tokens.insert(tokens.end(), encoded.begin(), encoded.end());
  return tokens;
}

StatusOr<ChatQuestion> ChatFormat::Ask(std::span<const ChatMessage> messages,
                                       std::time_t now) const {
  const StatusOr<Text> text = Render(messages, now, /*asks=*/true);
  if (!text.ok()) return Unwritten(text.status());
  SUBMIX_ASSIGN_OR_RETURN(auto prompt, Encode(*text, text->size()));
  if (!prompt.empty()) return Question(std::move(prompt), answer_end_);
  return base::InvalidArgumentError("This model's chat template writes nothing.");
}

ChatQuestion ChatFormat::Question(std::vector<TokenId> prompt, const TurnEnd& end) {
  ChatQuestion question{std::move(prompt), end.end_token};
  if (!end.end_token) question.stop = end.text;
  return question;
}

StatusOr<ChatQuestion> ChatFormat::Begin(std::span<const ChatMessage> messages,
                                         ChatRole role) const {
  if (role == ChatRole::kAssistant) return Ask(messages, kDateOfRecords);
  std::vector<ChatMessage> with_next(messages.begin(), messages.end());
  with_next.push_back({role, "x"});
  const StatusOr<Text> text = Render(with_next, kDateOfRecords, /*asks=*/false);
  if (!text.ok()) return Unwritten(text.status());
  const std::vector<Stretch> parts = PartsIn(*text);
  if (parts.empty() || parts.back().end - parts.back().begin != 1 ||
      text->origin(parts.back().begin) != Origin::kMessage || question_end_.text.empty()) {
    return base::InvalidArgumentError(
        "This model's chat template does not say where a user's message begins and ends.");
  }
  SUBMIX_ASSIGN_OR_RETURN(auto prompt, Encode(*text, parts.back().begin));
  return Question(std::move(prompt), question_end_);
}

StatusOr<std::size_t> ChatFormat::TokensBefore(const Text& text, std::size_t bytes,
                                               Straddling whose,
                                               const std::vector<TokenId>& all) const {
  SUBMIX_ASSIGN_OR_RETURN(const auto before, Encode(text, bytes));
  const auto differs = std::ranges::mismatch(before, all);
  const bool straddles = differs.in1 != before.end();
  return static_cast<std::size_t>(differs.in2 - all.begin()) +
         (straddles && whose == Straddling::kBefore ? 1 : 0);
}

// A template may quote what it refuses: it is asked again about a conversation of the same roles.
Status ChatFormat::WhyUnwritten(std::span<const ChatMessage> messages) const {
  std::vector<ChatMessage> roles(messages.begin(), messages.end());
  for (ChatMessage& message : roles) message.content = "...";
  const StatusOr<Text> text = Render(roles, kDateOfRecords, /*asks=*/false);
  if (!text.ok()) return Unwritten(text.status());
  return base::InvalidArgumentError(
      "This model's chat template does not write the conversation for what a message says: leave "
      "the record out");
}

StatusOr<WrittenConversation> ChatFormat::Write(std::span<const ChatMessage> messages) const {
  const StatusOr<Text> rendered = Render(messages, kDateOfRecords, /*asks=*/false);
  if (!rendered.ok()) return WhyUnwritten(messages);
  const Text& text = *rendered;
  WrittenConversation written;
  SUBMIX_ASSIGN_OR_RETURN(written.tokens, Encode(text, text.size()));
  written.is_answer.assign(written.tokens.size(), false);
  bool has_answer = false;
  for (const Stretch& answer : AnswersIn(text, answer_begin_, answer_end_.text)) {
    SUBMIX_ASSIGN_OR_RETURN(const std::size_t begin,
                            TokensBefore(text, answer.begin, Straddling::kBehind, written.tokens));
    SUBMIX_ASSIGN_OR_RETURN(const std::size_t end,
                            TokensBefore(text, answer.end, Straddling::kBefore, written.tokens));
    for (std::size_t i = begin; i < end; ++i) written.is_answer[i] = true;
    has_answer = has_answer || begin < end;
  }
  if (has_answer) return written;
  return base::InvalidArgumentError(
      "This model's chat template writes none of the answers: leave the record out");
}

}  // namespace submix::chat
