// What each member reads before a query: records of its part alone.
#pragma once

#include <span>
#include <vector>

#include "submix/base/ids.h"
#include "submix/contexts/record_search.h"
#include "submix/ensemble/manifest.h"

namespace submix::contexts {

using Tokens = std::vector<base::TokenId>;

// What stands around records. As between the texts of a training: "<s> record </s> <s> record
// </s>" or, for models without <s>, "</s> record </s> record </s>". With a template: "<s> before
// record after before record after".
struct RecordFrame {
  base::TokenId end_of_text = 0;  // also what is computed and hidden where records are short
  Tokens first;                   // once
  Tokens before, after;           // of every record

  // Tokens around a lone record.
  std::size_t size() const { return first.size() + before.size() + after.size(); }
};

// Immutable.
class MemberContexts {
 public:
  // records[m] are member m's, without their frames; a record that is too long for a context is
  // searched, and read, in pieces that are not. Requires: contexts.tokens that hold a frame and a
  // token.
  MemberContexts(const ensemble::Contexts& contexts, RecordFrame frame,
                 std::vector<std::vector<Tokens>> records);

  int num_members() const { return static_cast<int>(members_.size()); }
  bool reads_query() const { return contexts_.retrieval == ensemble::Retrieval::kBm25; }
  bool is_empty(int member) const;
  int most_tokens() const { return contexts_.tokens; }
  base::TokenId end_of_text() const { return frame_.end_of_text; }

  // At most contexts.tokens tokens, none if the member has no record; of fixed contexts, whatever
  // the query is. What matches best stands last. A function of this member's records, the query and
  // public constants.
  Tokens Of(int member, std::span<const base::TokenId> query) const;

 private:
  struct Member {
    std::vector<Tokens> records;
    RecordSearch search;
  };

  const ensemble::Contexts contexts_;
  const RecordFrame frame_;
  std::vector<Member> members_;
};

}  // namespace submix::contexts
