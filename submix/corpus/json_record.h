// One line of user-keyed JSONL: an object that holds a user and a text, a conversation, or a prompt
// and a completion.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "submix/base/status.h"
#include "submix/corpus/user_records.h"

namespace submix::corpus {

// What the line says; `line` of the record is left 0. A user may be an integer of any size, taken
// as its decimal text: 7 and "7" are one user. Errors, without the line's place or any of its text:
// kInvalidArgument, with the reason.
base::StatusOr<UserRecord> ParseJsonRecord(const CorpusFile& file, std::string_view line);

// {"user": "u1", "text": "..."}, with the file's names.
std::string JsonRecordExample(const CorpusFile& file);

// The record as a line, with its end: in its one form, by the names that a file has without flags.
std::string JsonLine(const UserRecord& record);

// "user" is empty: …
base::Status EmptyUserError(const CorpusFile& file);

// What a record may hold in the place of its text.
inline constexpr char kMessagesField[] = "messages";
inline constexpr char kPromptField[] = "prompt";
inline constexpr char kCompletionField[] = "completion";
// Beside it.
inline constexpr char kOwnersField[] = "owners";

// The conversation in a record's "messages". Errors: those of ReadConversation.
base::StatusOr<std::vector<chat::ChatMessage>> ParseMessages(std::string_view record);

// Whether a list of keys, as JSON, names another than the user. Errors: kInvalidArgument for
// anything else than a list of strings and integers.
base::StatusOr<bool> HasOtherOwners(const std::string& owners, const std::string& user);

// A record holds one of its forms. Errors: kInvalidArgument for more than one.
base::Status CheckOneForm(const CorpusFile& file, bool has_text, bool has_messages, bool has_pair);

// The prompt and the completion of `record`. Errors: kInvalidArgument for an empty completion.
base::Status SetPair(const std::string& prompt, const std::string& completion, UserRecord& record);

}  // namespace submix::corpus
