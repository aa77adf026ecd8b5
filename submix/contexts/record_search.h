// Which records of one part match a query: Okapi BM25 with tokens as terms. Every statistic
// (document frequencies, lengths) is this part's own: one over all parts would make what a member
// reads depend on other parts' text. Source: Robertson and Zaragoza, "The Probabilistic Relevance
// Framework: BM25 and Beyond", 2009, with the idf of Lucene, which is never negative. Every query
// costs one pass over all records: how many match it does not show in the work.
#pragma once

#include <span>
#include <vector>

#include "submix/base/ids.h"

namespace submix::contexts {

// Immutable.
class RecordSearch {
 public:
  static constexpr double kSaturation = 1.2;     // k1
  static constexpr double kLengthWeight = 0.75;  // b

  explicit RecordSearch(std::span<const std::vector<base::TokenId>> records);

  // [records]; 0 for those that share no token with the query. A token counts once, however often
  // the query has it.
  std::vector<double> Scores(std::span<const base::TokenId> query) const;
  // All records, best first; equal ones in their own order.
  std::vector<int> Ranked(std::span<const base::TokenId> query) const;

 private:
  struct Term {
    base::TokenId token = 0;
    int count = 0;
  };
  struct Record {
    std::vector<Term> terms;   // in the order of tokens
    double length_factor = 0;  // k1 (1 - b + b length / mean length)
  };

  std::vector<Record> records_;
  std::vector<int> holders_;  // records that hold a token, by its id, up to the largest of all
};

}  // namespace submix::contexts
