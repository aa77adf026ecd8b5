// Where private text lies: the file, and the names that its records have.
#pragma once

#include <string>

#include "submix/apps/flags.h"
#include "submix/corpus/record_encoder.h"
#include "submix/corpus/user_records.h"

namespace submix::apps {

// --user-column and --text-column. `file` must outlive the command, here and below.
inline void AddColumnFlags(Flags flags, corpus::CorpusFile& file) {
  flags.Add("--user-column", file.user_column, "Field or CSV column of the user's key");
  flags.Add("--text-column", file.text_column, "Field or CSV column of the text");
}

// --loss, "answers" or "all". `unsaid`: for --help, what holds where nobody says; `what` is done.
inline CLI::Option* AddLossFlag(Flags flags, std::string& loss, const std::string& unsaid,
                                const std::string& what) {
  CLI::Option* const flag = flags.Add("--loss", loss, OneOf({"answers", "all"}),
                                      "Of conversations, and of prompts with completions, " + what +
                                          " the answers alone, or all tokens");
  return flag->default_str(unsaid);
}
inline corpus::Loss LossOf(const std::string& loss) {
  return loss == "all" ? corpus::Loss::kAll : corpus::Loss::kAnswers;
}

// A user-keyed file that must be given, which `what` names for help, and the flags of its columns.
inline void RequireCorpus(Flags flags, const std::string& name, const std::string& what,
                          corpus::CorpusFile& file) {
  flags.Require(
      name, file.path, kFile,
      what +
          ": one {\"user\": \"…\", \"text\": \"…\"} a line (.jsonl), or .csv with a "
          "header; also .gz, .xz, .zst, .bz2. \"messages\", a conversation, or \"prompt\" and "
          "\"completion\" may stand in the text's place");
  AddColumnFlags(flags, file);
}

}  // namespace submix::apps
