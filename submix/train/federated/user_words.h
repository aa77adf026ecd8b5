// Users' texts as streams of words or tokens, for federated training and its evaluation.
// Torch-free.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/corpus/counted_tokens.h"
#include "submix/corpus/user_records.h"

namespace submix::train {

using TokenStreams = std::vector<std::vector<corpus::StreamToken>>;

struct UserWordsLimits {
  // Counted are words and the ends of texts, the things that are predicted.
  std::int64_t least_tokens = 1;  // users with fewer are dropped
  std::int64_t most_tokens = 0;   // users with more are cut; 0: never
};

// A stream a user: the records in the order of the file, cut; `append` adds one, and its end, to
// its user's stream, and nothing for a text without a token: a user without any that counts is
// dropped (Theorem 13, as if absent). Users in the order of their keys. Whether a user stays, and
// with which words, depends on that user alone. Errors: those of corpus::ReadUserRecords;
// `append`'s, with file and line. Requires: least_tokens >= 1.
base::StatusOr<TokenStreams> ReadUserStreams(
    const corpus::CorpusFile& file, const UserWordsLimits& limits,
    const std::function<base::Status(const corpus::UserRecord& record,
                                     std::vector<corpus::StreamToken>& stream)>& append);

// The first streams that together have `most_tokens`, the last one cut.
TokenStreams FirstWords(TokenStreams streams, std::int64_t most_tokens);

}  // namespace submix::train
