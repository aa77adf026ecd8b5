// What stands out in a corpus before it is used: for its operator alone.
#pragma once

#include <cstdint>

#include "submix/base/status.h"
#include "submix/corpus/user_records.h"

namespace submix::corpus {

struct CorpusSummary {
  std::int64_t users = 0;
  std::int64_t bytes = 0;             // of all texts and messages
  std::int64_t bytes_of_largest = 0;  // of the user who has most
  std::int64_t shared_records = 0;    // that have several owners, and are nobody's
  // User keys of which another is the same character by character and differs in Unicode form alone
  // (NFC, UAX #15), so that one person may count as several users.
  std::int64_t keys_alike = 0;
};

// One pass; keeps the keys in memory, and no text. Errors: those of ReadUserRecords.
base::StatusOr<CorpusSummary> SummarizeCorpus(const CorpusFile& file);

}  // namespace submix::corpus
