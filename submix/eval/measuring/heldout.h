// Held-out text for evaluation: token blocks whose every position but the first is scored if it
// counts (corpus/counted_tokens.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/corpus/record_encoder.h"
#include "submix/corpus/user_records.h"
#include "submix/corpus/user_tokens.h"

namespace submix::eval {

// Blocks of at most context_length + 1 tokens; within a block, position t >= 1 is the query
// "tokens[0 .. t) → tokens[t]". Blocks never mix two users or documents.
using HeldoutBlocks = std::vector<std::vector<corpus::StreamToken>>;

// Blocks and whose each is: intervals resample users, so that what one of them wrote stays
// together.
struct HeldoutText {
  HeldoutBlocks blocks;
  std::vector<std::string> users;  // [blocks]; a user's blocks follow each other
  // [blocks]: the tokens, ascending, of which a block's scored ones are; empty: all blocks score
  // among all tokens.
  std::vector<std::vector<base::TokenId>> choices = {};
};

// From the held-out users of a partitioned corpus.
HeldoutText HeldoutFromUsers(const std::vector<corpus::UserTokens>& users, int context_length);

// From a file: user-keyed (every user; corpus::IsUserKeyed) or plain text (documents end with a
// line "<|endoftext|>"; nobody is said to have written them, so every block counts as a user's,
// with its number for a name). Errors: those of the reader.
base::StatusOr<HeldoutText> HeldoutFromFile(const corpus::CorpusFile& file,
                                            const corpus::RecordEncoder& encoder,
                                            int context_length);

// Labels of a user-keyed file, whose records each have a prompt and one of the labels as
// completion: a block each, in which the one token is scored that tells the labels apart
// (corpus/label_choice.h), among those of the labels. Errors: those of the reader and of
// corpus::CheckLabels; kInvalidArgument with file and line for a record without a prompt, another
// completion, a prompt that does not fit.
base::StatusOr<HeldoutText> LabelsFromFile(const corpus::CorpusFile& file,
                                           const corpus::RecordEncoder& encoder,
                                           const std::vector<std::string>& labels,
                                           int context_length);

// What one user wrote, of a user-keyed file. Errors: those of the reader; kNotFound if the file has
// no text of that user.
base::StatusOr<HeldoutBlocks> HeldoutOfUser(const std::string& path, const std::string& user,
                                            const corpus::RecordEncoder& encoder,
                                            int context_length);

// Number of scored tokens in the blocks; and of all that are predicted, scored or not.
std::int64_t CountScoredTokens(const HeldoutBlocks& blocks);
std::int64_t CountPredictedTokens(const HeldoutBlocks& blocks);

}  // namespace submix::eval
