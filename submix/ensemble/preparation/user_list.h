// Whom an ensemble has read, so that a later training of the same users can say so: the file
// `users`, keyed hashes under the ensemble's own partition key. Format: docs/manifest_format.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "submix/base/digest.h"
#include "submix/base/status.h"
#include "submix/corpus/user_records.h"
#include "submix/corpus/user_tokens.h"

namespace submix::ensemble {

// Writes the list of the users that the members read, who are given by member.
base::Status SaveUserList(const std::string& ensemble_directory, const base::HashKey& key,
                          std::span<const std::vector<corpus::UserTokens>> members);

// Where the list lies.
std::string UserListPath(const std::string& ensemble_directory);

// Those of some users whom an ensemble has read. None: it has no list, or not the key to read it.
// Errors: those of reading lists and keys.
base::StatusOr<std::optional<std::vector<std::string>>> UsersOnList(
    const std::string& ensemble_directory, const std::vector<std::string>& users);

struct SharedUsers {
  std::string ensemble;
  std::int64_t in_corpus = 0;
  std::optional<std::int64_t> shared;  // none: no list, or not the key to read it
};

// How many users of a corpus each of these ensembles has read. Errors: those of ReadUserRecords,
// and of reading lists and keys.
base::StatusOr<std::vector<SharedUsers>> CountSharedUsers(
    const corpus::CorpusFile& corpus, const std::vector<std::string>& ensembles);

}  // namespace submix::ensemble
