// User-keyed text: JSONL, one object a line, {"user": "...", "text": "..."}, or CSV with a header,
// if the name ends in .csv; either may be packed (text_lines.h). In the text's place a record may
// hold "messages", a conversation (chat/chat_message.h; in CSV as JSON), or "prompt" and
// "completion". Beside it "owners" may list the keys of all whose record it is (in CSV as JSON).
// Streaming: one record is in memory at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "submix/base/status.h"
#include "submix/chat/chat_message.h"

namespace submix::corpus {

struct UserRecord {
  std::string user;  // the user key; never empty
  std::string text;
  std::int64_t line = 0;  // 1-based; where its row begins
  // Of a record with a prompt and a completion: `text` is both, and so many bytes are the prompt's.
  std::optional<std::size_t> prompt_bytes = {};
  std::vector<chat::ChatMessage> messages = {};  // of a conversation, which has no text
  bool has_other_owners = false;                 // beside the user

  // All that was written, whoever said it: the text, or the messages, a line each.
  std::string Written() const;
};

// Where user-keyed text is.
struct CorpusFile {
  CorpusFile() = default;
  CorpusFile(std::string file) : path(std::move(file)) {}
  CorpusFile(const char* file) : path(file) {}

  std::string path;
  // The JSON fields, or columns of a CSV file, that hold the user's key and the text.
  std::string user_column = "user";
  std::string text_column = "text";
};

// Calls `sink` in order for every record that is its user's alone; blank lines are skipped, other
// fields ignored. One that has other owners is nobody's (docs/privacy.md, Theorem 5): a rule that
// reads the record and nothing else, so that it is no one's part that one user's records are in
// but that user's own. A user's
// key is a string or, in JSON, an integer of any size, which is taken as its decimal text. Errors,
// naming file and line but never quoting text (of a CSV header that lacks a column, short names):
// those of ReadLines; kInvalidArgument for invalid JSON or CSV, bytes that are not UTF-8, a
// missing, empty or other user, a missing or non-string text, one beside a conversation or a
// prompt, what is no conversation, a prompt or a completion without the other or no string, an
// empty completion, a row with another number of fields than the header, or a file without any
// record. The sink's first error ends the reading and is returned, with file and line.
base::Status ReadUserRecords(const CorpusFile& file,
                             const std::function<base::Status(const UserRecord&)>& sink);

// The same with those that have other owners. Errors: likewise.
base::Status ReadAllRecords(const CorpusFile& file,
                            const std::function<base::Status(const UserRecord&)>& sink);

// Whether there is a record of this user, other owners or not. Errors: those of ReadUserRecords.
base::StatusOr<bool> HasUser(const CorpusFile& file, std::string_view user);

// Whether the file holds user-keyed text by its name: .jsonl or .csv, packed or not.
bool IsUserKeyed(std::string_view path);

}  // namespace submix::corpus
