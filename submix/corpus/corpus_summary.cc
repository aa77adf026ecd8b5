#include "submix/corpus/corpus_summary.h"

#include <algorithm>
#include <map>
#include <string>

#include "submix/tokenizer/canonical_composition.h"

namespace submix::corpus {

base::StatusOr<CorpusSummary> SummarizeCorpus(const CorpusFile& file) {
  CorpusSummary summary;
  std::map<std::string, std::int64_t> bytes;
  SUBMIX_RETURN_IF_ERROR(ReadAllRecords(file, [&](const UserRecord& record) {
    if (record.has_other_owners) {
      ++summary.shared_records;
    } else {
      bytes[record.user] += std::ssize(record.Written());
    }
    return base::OkStatus();
  }));
  std::map<std::string, std::int64_t> keys_of_form;
  for (const auto& [user, own] : bytes) {
    ++summary.users;
    summary.bytes += own;
    summary.bytes_of_largest = std::max(summary.bytes_of_largest, own);
    ++keys_of_form[tokenizer::ComposeCanonically(user)];
  }
  for (const auto& [form, keys] : keys_of_form) summary.keys_alike += keys > 1 ? keys : 0;
  return summary;
}

}  // namespace submix::corpus
