// Token batches for training and evaluation: each user's records, in file order, as one stream, cut
// into blocks that never mix two users. Where the tokenizer puts something before a text (BOS), a
// stream is "<s> text </s> <s> text </s>"; where it does not, end_of_text stands on both sides of a
// text: "<|endoftext|> text <|endoftext|> text <|endoftext|>". A conversation begins as its
// template has it, and end_of_text stands behind it, too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/corpus/partition.h"
#include "submix/corpus/record_encoder.h"
#include "submix/corpus/user_records.h"

namespace submix::corpus {

// All text of one user as tokens, with one end_of_text at the end. None at all where no record has
// a token of text: such a user trains nothing, so that a user whose records are emptied is, for a
// training, one who is absent (docs/privacy.md, Theorem 14).
struct UserTokens {
  std::string user;
  std::vector<StreamToken> tokens;
  // Where each record lies with the ends of text around it, from `begin` up to `end`.
  struct Place {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  std::vector<Place> records = {};
};

// A user's stream in the making.
class RecordStream {
 public:
  void Append(EncodedRecord record);
  std::size_t size() const { return user_.tokens.size(); }
  bool has_text() const { return has_text_; }
  // The first `most_tokens` of it, with the last end of text if that is among them.
  UserTokens Take(std::string user, std::size_t most_tokens);

 private:
  void Close();

  UserTokens user_;
  StreamToken end_ = 0;  // of the last record
  bool is_open_ = false;
  bool has_text_ = false;
};

// Every record as a stream of its own: boundaries are no tokens that a text could forge.
std::vector<UserTokens> CutIntoTexts(const std::vector<UserTokens>& users);

// The users of a corpus by where the partition puts them; users in order of their keys, so that the
// result does not depend on the order of the file's users.
struct PartitionedCorpus {
  std::vector<std::vector<UserTokens>> members;  // [K * halves], index part * halves + half
  std::vector<UserTokens> heldout;
};

// Reads and tokenizes the corpus, of each user the first tokens_per_user tokens, or all where that
// is 0: what is cut off depends on the user's own text alone, and ends without end_of_text. A
// member may get no user: whether one does is private, so nothing is refused for it (Theorem 5:
// every data set has a deployment). Errors: those of ReadUserRecords; of RecordEncoder, with file
// and line. Requires: options in range.
base::StatusOr<PartitionedCorpus> PartitionCorpus(const CorpusFile& file,
                                                  const RecordEncoder& encoder,
                                                  const base::HashKey& key,
                                                  const PartitionOptions& options,
                                                  std::int64_t tokens_per_user = 0);

// Cuts users into blocks of at most block_tokens tokens, wherever a text begins or ends;
// consecutive blocks of one user overlap by one token so that every transition is seen once. Blocks
// that predict no token that counts are dropped, such as those of fewer than two tokens. Requires:
// block_tokens >= 2.
std::vector<std::vector<StreamToken>> CutIntoBlocks(const std::vector<UserTokens>& users,
                                                    int block_tokens);

}  // namespace submix::corpus
