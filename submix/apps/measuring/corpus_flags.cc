#include "submix/apps/measuring/corpus_flags.h"

namespace submix::apps {

void AddColumnFlags(Flags flags, corpus::CorpusFile& file) {
  flags.Add("--user-column", file.user_column, "Field or CSV column of the user's key");
  flags.Add("--text-column", file.text_column, "Field or CSV column of the text");
}

}  // namespace submix::apps
