// A record as a model reads it, and which of its tokens count: all of a text; of a prompt with its
// completion the completion; of a conversation, which the public model's own chat template writes,
// the answers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/chat/chat_format.h"
#include "submix/corpus/counted_tokens.h"
#include "submix/corpus/user_records.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::corpus {

// What counts of conversations, and of prompts with their completions.
enum class Loss { kAnswers, kAll };

struct EncodedRecord {
  std::vector<StreamToken> tokens;  // with what stands before a text (BOS)
  StreamToken end = 0;              // end_of_text, which stands behind it
  bool begins_by_itself = false;    // nothing has to stand before it
  bool has_text = false;            // a token of its own
};

// One thread at a time.
class RecordEncoder {
 public:
  // For text alone; conversations are refused. The tokenizer outlives it, here and below.
  RecordEncoder(const tokenizer::Tokenizer& tokenizer)  // NOLINT: text needs nothing else
      : tokenizer_(tokenizer) {}
  // For all records. The template is looked for in the model's directory when the first
  // conversation comes.
  RecordEncoder(const tokenizer::Tokenizer& tokenizer, std::string model_directory, Loss loss)
      : tokenizer_(tokenizer), model_directory_(std::move(model_directory)), loss_(loss) {}

  const tokenizer::Tokenizer& tokenizer() const { return tokenizer_; }

  // A prompt and its completion are a conversation of two messages where the model has a chat
  // template, and otherwise one text. Errors: those of Tokenizer::Encode and ChatFormat;
  // kFailedPrecondition for a conversation where there is no template. None quotes the record.
  base::StatusOr<EncodedRecord> Encode(const UserRecord& record) const;
  // Whether a prompt and its completion are a conversation. Errors: ChatFormat's.
  base::StatusOr<bool> WritesTurns() const;

 private:
  base::StatusOr<const chat::ChatFormat*> Format() const;
  base::StatusOr<EncodedRecord> EncodeText(const UserRecord& record) const;
  base::StatusOr<EncodedRecord> EncodeConversation(
      const std::vector<chat::ChatMessage>& messages) const;

  const tokenizer::Tokenizer& tokenizer_;
  const std::string model_directory_;  // empty: none
  const Loss loss_ = Loss::kAll;
  mutable std::unique_ptr<const chat::ChatFormat> format_;  // null: not asked for yet
};

}  // namespace submix::corpus
