#include "submix/corpus/record_encoder.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace submix::corpus {

using base::StatusOr;
using base::TokenId;

StatusOr<const chat::ChatFormat*> RecordEncoder::Format() const {
  if (format_ == nullptr) {
    SUBMIX_ASSIGN_OR_RETURN(format_, chat::ChatFormat::Load(model_directory_, "", tokenizer_));
  }
  return format_.get();
}

StatusOr<bool> RecordEncoder::WritesTurns() const {
  if (model_directory_.empty()) return false;
  SUBMIX_ASSIGN_OR_RETURN(const chat::ChatFormat* const format, Format());
  return format->is_of_model();
}

StatusOr<EncodedRecord> RecordEncoder::EncodeText(const UserRecord& record) const {
  EncodedRecord encoded;
  SUBMIX_ASSIGN_OR_RETURN(encoded.tokens, tokenizer_.EncodePrompt(record.text));
  encoded.end = tokenizer_.end_of_text();
  encoded.begins_by_itself = !tokenizer_.prefix().empty();
  encoded.has_text = encoded.tokens.size() > tokenizer_.prefix().size();
  if (!record.prompt_bytes || loss_ == Loss::kAll) return encoded;
  SUBMIX_ASSIGN_OR_RETURN(
      const auto prompt,
      tokenizer_.EncodePrompt(std::string_view(record.text).substr(0, *record.prompt_bytes)));
  // A token that the prompt shares with the completion is of the completion.
  const auto differs = std::ranges::mismatch(encoded.tokens, prompt);
  std::for_each(encoded.tokens.begin(), differs.in1,
                [](StreamToken& token) { token = Uncounted(token); });
  return encoded;
}

StatusOr<EncodedRecord> RecordEncoder::EncodeConversation(
    const std::vector<chat::ChatMessage>& messages) const {
  SUBMIX_ASSIGN_OR_RETURN(const chat::ChatFormat* const format, Format());
  SUBMIX_ASSIGN_OR_RETURN(chat::WrittenConversation written, format->Write(messages));
  EncodedRecord encoded{.tokens = std::move(written.tokens),
                        .end = tokenizer_.end_of_text(),
                        .begins_by_itself = true,
                        .has_text = true};
  if (loss_ == Loss::kAll) return encoded;
  for (std::size_t i = 0; i < encoded.tokens.size(); ++i) {
    if (!written.is_answer[i]) encoded.tokens[i] = Uncounted(encoded.tokens[i]);
  }
  // Where a conversation ends, an answer has ended before.
  encoded.end = Uncounted(encoded.end);
  return encoded;
}

StatusOr<EncodedRecord> RecordEncoder::Encode(const UserRecord& record) const {
  const bool is_conversation = !record.messages.empty();
  if (!is_conversation && !record.prompt_bytes) return EncodeText(record);
  if (model_directory_.empty()) {
    if (!is_conversation) return EncodeText(record);
    return base::FailedPreconditionError(
        "a conversation (\"messages\"): only text is read here; give records with a text");
  }
  SUBMIX_ASSIGN_OR_RETURN(const chat::ChatFormat* const format, Format());
  if (is_conversation) {
    if (format->is_of_model()) return EncodeConversation(record.messages);
    return base::FailedPreconditionError(
        "a conversation (\"messages\"), and " + model_directory_ +
        " has no chat template to write it: take a public model for chats, or give records with "
        "\"prompt\" and \"completion\", or with a text");
  }
  if (!format->is_of_model()) return EncodeText(record);
  return EncodeConversation(
      {{chat::ChatRole::kUser, record.text.substr(0, *record.prompt_bytes)},
       {chat::ChatRole::kAssistant, record.text.substr(*record.prompt_bytes)}});
}

}  // namespace submix::corpus
