// Where private text lies: the file, and the names that its records have.
#pragma once

#include "submix/apps/flags.h"
#include "submix/corpus/user_records.h"

namespace submix::apps {

// What a user-keyed file may be, for help.
inline constexpr const char* kUserKeyedText =
    "one {\"user\": \"…\", \"text\": \"…\"} a line (.jsonl), or .csv with a header; "
    "also .gz, .xz, .zst, .bz2";

// --user-column and --text-column. `file` must outlive the command.
void AddColumnFlags(Flags flags, corpus::CorpusFile& file);

}  // namespace submix::apps
