// A member's records on disk: user-keyed JSONL as a corpus is, but with a keyed hash in the user's
// place, in an order that a keyed hash gives and no other part moves.
#pragma once

#include <string>
#include <vector>

#include "submix/base/digest.h"
#include "submix/base/status.h"
#include "submix/corpus/partition.h"
#include "submix/corpus/user_records.h"

namespace submix::contexts {

// Its user is corpus::ForgottenMark of the user key.
using ContextRecord = corpus::UserRecord;

// The records of a corpus by member, or those of one batch of its users.
struct PartitionedRecords {
  std::vector<std::vector<ContextRecord>> members;  // [num_parts * halves]
  std::vector<std::string> readers;                 // user keys whom members read
};

// By batch (corpus::BatchOf), each with `options`' parts of its own. A batch's users go to its
// parts by PlaceUser or, where the list of users is public, one to each by DealUsers; whose records
// are empty are on the list. Errors: those of ReadUserRecords; kInvalidArgument for a list that is
// shorter than the parts. Requires: options in range, batches >= 1.
base::StatusOr<std::vector<PartitionedRecords>> PartitionRecords(
    const corpus::CorpusFile& file, const base::HashKey& key,
    const corpus::PartitionOptions& options, int batches, bool public_keys);

// A member's directory, which is made. Errors: those of writing.
base::Status SaveRecords(const std::vector<ContextRecord>& records,
                         const std::string& member_directory);
// Errors: kNotFound; those of ReadUserRecords, but for an empty file.
base::StatusOr<std::vector<ContextRecord>> LoadRecords(const std::string& member_directory);

struct RemainingRecords {
  std::vector<ContextRecord> records;
  bool had_user = false;
};

// A member's records without a user's, whom corpus::ForgottenMark gives. Where its old directory
// has no records any more, those of the new one, which an earlier call wrote. Errors: LoadRecords'.
base::StatusOr<RemainingRecords> RecordsWithoutUser(const std::string& mark,
                                                    const std::string& old_directory,
                                                    const std::string& new_directory);

}  // namespace submix::contexts
