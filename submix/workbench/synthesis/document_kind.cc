#include "submix/workbench/synthesis/document_kind.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <utility>
#include <vector>

#include "submix/base/check.h"
#include "submix/chat/chat_format.h"
#include "submix/corpus/label_choice.h"

namespace submix::workbench {
namespace {

using base::StatusOr;
using chat::ChatMessage;
using chat::ChatRole;
using engine::Request;
using engine::SynthesizedDocument;
using Json = nlohmann::ordered_json;

const char* FinishOf(engine::AnswerEnd end) {
  return end == engine::AnswerEnd::kStop ? "stop" : "length";
}

// A text begins as those did that the models were trained on.
class Texts final : public DocumentKind {
 public:
  Texts(const SynthesisOrder& order, const DeployedEngine& deployed)
      : order_(order), deployed_(deployed) {}

  StatusOr<Request> First(const DocumentPrompt& prompt) const override {
    Request request = order_.request;
    request.prompt = deployed_.tokenizer->document_start();
    SUBMIX_ASSIGN_OR_RETURN(const auto tokens, deployed_.tokenizer->Encode(prompt.text));
    request.prompt.insert(request.prompt.end(), tokens.begin(), tokens.end());
    if (order_.shape) {
      SUBMIX_ASSIGN_OR_RETURN(request.shape, deployed_.core->CompileShape(*order_.shape));
    }
    return request;
  }

  StatusOr<std::optional<Request>> Next(const DocumentPrompt& prompt,
                                        const SynthesizedDocument& text, Json& fields) override {
    fields = {{"prompt", prompt.text}};
    if (!prompt.label.empty()) fields["label"] = prompt.label;
    fields["text"] = text.text;
    fields["tokens"] = text.tokens.size();
    fields["finish_reason"] = FinishOf(text.end);
    return std::optional<Request>();
  }

 private:
  const SynthesisOrder& order_;
  const DeployedEngine& deployed_;
};

// A label is one token.
class Labels final : public DocumentKind {
 public:
  Labels(const SynthesisOrder& order, const DeployedEngine& deployed)
      : order_(order),
        encoder_(*deployed.tokenizer, deployed.deployment.ensemble.public_directory(),
                 corpus::Loss::kAnswers) {}

  StatusOr<Request> First(const DocumentPrompt& prompt) const override {
    SUBMIX_ASSIGN_OR_RETURN(corpus::LabelChoice choice, ChoiceOf(prompt));
    Request request = order_.request;
    request.prompt = std::move(choice.prompt);
    request.one_of = std::move(choice.next);
    std::ranges::sort(request.one_of);
    request.max_tokens = 1;
    return request;
  }

  StatusOr<std::optional<Request>> Next(const DocumentPrompt& prompt,
                                        const SynthesizedDocument& text, Json& fields) override {
    SUBMIX_ASSIGN_OR_RETURN(const corpus::LabelChoice choice, ChoiceOf(prompt));
    const auto drawn = std::ranges::find(choice.next, text.tokens.front());
    SUBMIX_CHECK(drawn != choice.next.end(), "one of the tokens that were asked for");
    fields = {{"prompt", prompt.text},
              {"label", order_.labels[static_cast<std::size_t>(drawn - choice.next.begin())]}};
    if (!prompt.label.empty()) fields["completion"] = prompt.label;
    fields["tokens"] = text.tokens.size();
    return std::optional<Request>();
  }

 private:
  StatusOr<corpus::LabelChoice> ChoiceOf(const DocumentPrompt& prompt) const {
    return corpus::ChoiceOfLabels(encoder_, prompt.text, order_.labels);
  }

  const SynthesisOrder& order_;
  const corpus::RecordEncoder encoder_;
};

// What every message has: a character that is no white space.
constexpr char kSomeText[] = "(.|\\n)*\\S(.|\\n)*";

// Messages in turns, a user's first, in the model's own chat template. A prompt is the first.
class Conversations final : public DocumentKind {
 public:
  Conversations(const SynthesisOrder& order, const DeployedEngine& deployed,
                std::unique_ptr<const chat::ChatFormat> format,
                std::shared_ptr<const shape::TokenAutomaton> some_text)
      : order_(order),
        deployed_(deployed),
        format_(std::move(format)),
        some_text_(std::move(some_text)) {}

  StatusOr<Request> First(const DocumentPrompt& prompt) const override {
    const std::vector<ChatMessage> begun = BegunBy(prompt);
    SUBMIX_RETURN_IF_ERROR(CheckRoom(begun));
    return Asking(begun);
  }

  StatusOr<std::optional<Request>> Next(const DocumentPrompt& prompt,
                                        const SynthesizedDocument& text, Json& fields) override {
    Written& written = written_.try_emplace(text.number, Written{BegunBy(prompt)}).first->second;
    written.messages.push_back({RoleAfter(written.messages), corpus::Trimmed(text.text)});
    written.tokens += std::ssize(text.tokens);
    if (std::ssize(written.messages) < order_.messages) {
      SUBMIX_ASSIGN_OR_RETURN(Request request, Asking(written.messages));
      return std::optional(std::move(request));
    }
    fields = Json::object();
    if (!prompt.label.empty()) fields["label"] = prompt.label;
    for (const ChatMessage& message : written.messages) {
      fields["messages"].push_back(
          {{"role", chat::RoleName(message.role)}, {"content", message.content}});
    }
    fields["tokens"] = written.tokens;
    fields["finish_reason"] = FinishOf(text.end);
    written_.erase(text.number);
    return std::optional<Request>();
  }

 private:
  struct Written {
    std::vector<ChatMessage> messages;
    std::int64_t tokens = 0;
  };

  static std::vector<ChatMessage> BegunBy(const DocumentPrompt& prompt) {
    if (prompt.text.empty()) return {};
    return {{ChatRole::kUser, prompt.text}};
  }
  static ChatRole RoleAfter(const std::vector<ChatMessage>& messages) {
    return messages.size() % 2 == 0 ? ChatRole::kUser : ChatRole::kAssistant;
  }

  StatusOr<Request> Asking(const std::vector<ChatMessage>& messages) const {
    SUBMIX_ASSIGN_OR_RETURN(chat::ChatQuestion question,
                            format_->Begin(messages, RoleAfter(messages)));
    Request request = order_.request;
    request.prompt = std::move(question.prompt);
    if (question.end_token) request.end_tokens.push_back(*question.end_token);
    if (!question.stop.empty()) request.stop.push_back(std::move(question.stop));
    request.shape = some_text_;
    return request;
  }

  // The last message of a conversation whose others are as long as they may be.
  base::Status CheckRoom(std::vector<ChatMessage> messages) const {
    const std::int64_t to_come = order_.messages - std::ssize(messages);
    while (std::ssize(messages) + 1 < order_.messages) {
      messages.push_back({RoleAfter(messages), "x"});
    }
    SUBMIX_ASSIGN_OR_RETURN(const Request last, Asking(messages));
    const std::int64_t tokens =
        std::ssize(last.prompt) + to_come * static_cast<std::int64_t>(order_.request.max_tokens);
    const int context = deployed_.core->context_length();
    if (tokens <= context) return base::OkStatus();
    return base::InvalidArgumentError(
        "a conversation of " + std::to_string(order_.messages) + " messages of --max-tokens " +
        std::to_string(order_.request.max_tokens) + " may have " + std::to_string(tokens) +
        " tokens, and the model's context has " + std::to_string(context) +
        ": ask for fewer or shorter messages");
  }

  const SynthesisOrder& order_;
  const DeployedEngine& deployed_;
  const std::unique_ptr<const chat::ChatFormat> format_;
  const std::shared_ptr<const shape::TokenAutomaton> some_text_;
  std::map<std::int64_t, Written> written_;  // that have begun, by number
};

StatusOr<std::unique_ptr<DocumentKind>> MakeConversations(const SynthesisOrder& order,
                                                          const DeployedEngine& deployed) {
  const std::string& directory = deployed.deployment.ensemble.public_directory();
  SUBMIX_ASSIGN_OR_RETURN(auto format, chat::ChatFormat::Load(directory, "", *deployed.tokenizer));
  if (!format->is_of_model()) {
    return base::FailedPreconditionError(
        directory + " has no chat template to write conversations: take a model for chats");
  }
  SUBMIX_ASSIGN_OR_RETURN(auto some_text,
                          deployed.core->CompileShape({shape::ShapeKind::kRegex, kSomeText}));
  return std::make_unique<Conversations>(order, deployed, std::move(format), std::move(some_text));
}

}  // namespace

StatusOr<std::unique_ptr<DocumentKind>> DocumentKind::Of(const SynthesisOrder& order,
                                                         const DeployedEngine& deployed) {
  if (order.messages > 0) return MakeConversations(order, deployed);
  if (order.labels.empty()) return std::make_unique<Texts>(order, deployed);
  SUBMIX_RETURN_IF_ERROR(corpus::CheckLabels(order.labels, *deployed.tokenizer));
  return std::make_unique<Labels>(order, deployed);
}

std::int64_t MostTokens(const SynthesisOrder& order) {
  if (!order.labels.empty()) return 1;
  const std::int64_t tokens = order.request.max_tokens;
  if (order.messages == 0) return tokens;
  const bool has_prompt = std::ranges::all_of(
      order.prompts, [](const DocumentPrompt& prompt) { return !prompt.text.empty(); });
  return (order.messages - (has_prompt ? 1 : 0)) * tokens;
}

}  // namespace submix::workbench
