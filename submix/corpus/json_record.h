// One line of user-keyed JSONL: an object that holds a user and a text.
#pragma once

#include <string>
#include <string_view>

#include "submix/base/status.h"
#include "submix/corpus/user_records.h"

namespace submix::corpus {

// What the line says; `line` of the record is left 0. A user may be an integer of any size, taken
// as its decimal text: 7 and "7" are one user. Errors, without the line's place or any of its text:
// kInvalidArgument, with the reason.
base::StatusOr<UserRecord> ParseJsonRecord(const CorpusFile& file, std::string_view line);

// {"user": "u1", "text": "..."}, with the file's names.
std::string JsonRecordExample(const CorpusFile& file);

// "user" is empty: …
base::Status EmptyUserError(const CorpusFile& file);

}  // namespace submix::corpus
